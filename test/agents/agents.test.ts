import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/http/app.ts'
import { isFullLength, nightlyHint } from '../support/process/soak-length.ts'
import { type AgentHost, agentHint, installedAgent, openAgentHost } from './agent-host.ts'

/** One command that can be seen on the disk and in its result. */
const command = 'cp secret.txt copy.txt && cat secret.txt'
const calls = [
  { name: 'Bash', arguments: { command, description: 'Reads the file' } },
  { name: 'run_shell_command', arguments: { command, is_background: false } },
  { name: 'bash', arguments: { command } },
  { name: 'exec_command', arguments: { cmd: command } },
]

function callOf(name: string, args: object): string {
  return `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`
}

/** The model calls the tool that the user names, answers with what it finds in the result, and can be slow. */
const script = [
  { result: 'the word is (\\w+)', reply: { raw: 'The secret word is $1.' } },
  { result: '(a tool that is not run here)', reply: { raw: 'The search failed: $1.' } },
  { result: 'WebSearch', reply: { raw: callOf('WebSearch', { query: 'the secret word' }) } },
  { match: 'with WebSearch\\b', reply: { raw: callOf('ToolSearch', { query: 'select:WebSearch', max_results: 1 }) } },
  ...calls.map((call) => ({
    match: `with ${call.name}\\b`,
    reply: { raw: `I look. ${callOf(call.name, call.arguments)}` },
  })),
  { match: 'slowly', reply: { chunks: ['One ', 'two.'], delayMs: 3_600_000 } },
  { reply: { raw: 'I do not know.' } },
]

let home: string
let host: AgentHost
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-agents-script-'))
  const file = join(home, 'script.json')
  await writeFile(file, JSON.stringify(script))
  const model = {
    id: 'org/scripted',
    engine: 'fake',
    script: file,
    toolFormat: 'hermes',
    aliases: ['default'],
    contextLength: 200_000,
  }
  host = await openAgentHost({ models: [model] })
  if (!host.network.isEnforced) console.warn('agents run with dead proxies: no network namespace can be made here')
})
afterAll(async () => {
  await host.close()
  await rm(home, { recursive: true, force: true })
})

const routes = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const

/** How each agent is asked to work without a user: the arguments around a prompt, and the tool that runs commands. */
const headless = {
  claude: { tool: 'Bash', args: (prompt: string) => ['-p', prompt, '--allowedTools', 'Bash'] },
  codex: {
    tool: 'exec_command',
    args: (prompt: string) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  },
  qwen: { tool: 'run_shell_command', args: (prompt: string) => ['--yolo', '-p', prompt] },
  pi: { tool: 'bash', args: (prompt: string) => ['-p', prompt] },
} as const

/** Of the protocols of an agent, CI runs one. */
const runs = [
  { name: 'claude', protocol: 'messages' },
  { name: 'codex', protocol: 'responses' },
  { name: 'qwen', protocol: 'chat' },
  { name: 'qwen', protocol: 'messages', isNightly: true },
  { name: 'qwen', protocol: 'responses', isNightly: true },
  { name: 'pi', protocol: 'chat', isNightly: true },
  { name: 'pi', protocol: 'messages', isNightly: true },
  { name: 'pi', protocol: 'responses' },
] as const

/** A test of an agent, skipped with the reason where it is not installed. */
function testAgent(name: keyof typeof headless, title: string, run: () => Promise<void>): void {
  test.skipIf(installedAgent(name) === undefined)(`${name} ${title}${agentHint(name)}`, { timeout: 180_000 }, run)
}

for (const { name, protocol, ...rest } of runs) {
  if ('isNightly' in rest && !isFullLength) {
    test.skip(`${name} over ${protocol}${nightlyHint}`, () => undefined)
    continue
  }
  testAgent(
    name,
    `over ${protocol} runs the command that the model asks for, and prints the answer that came of it`,
    async () => {
      const { tool, args } = headless[name]
      const run = await host.start(name, {
        launch: ['--protocol', protocol],
        agent: args(`Find the secret word with ${tool}`),
        files: { 'secret.txt': 'the word is pear\n' },
      })
      const code = await run.ended
      expect(run.out(), run.err()).toContain('The secret word is pear.')
      expect(code).toBe(0)
      expect(readFileSync(join(run.work, 'copy.txt'), 'utf8')).toBe('the word is pear\n')
      const log = host.takeLog()
      const requests = log.filter(({ msg }) => msg === 'request ended')
      expect(requests.filter(({ route }) => route === routes[protocol]).length).toBeGreaterThanOrEqual(2)
      expect(requests.filter(({ status = 0 }) => status >= 400)).toEqual([])
      expect(log.filter(({ level }) => level >= 40)).toEqual([])
    },
  )
}

testAgent('claude', 'shows the model why its web search is refused, and prints the answer', async () => {
  const agent = ['-p', 'Find the secret word with WebSearch', '--allowedTools', 'WebSearch']
  const run = await host.start('claude', { launch: [], agent, files: {} })
  const code = await run.ended
  expect(run.out(), run.err()).toContain('The search failed: a tool that is not run here.')
  expect(code).toBe(0)
  const failed = host.takeLog().filter(({ msg, status = 0 }) => msg === 'request ended' && status >= 400)
  // It asks once more without what only some models take.
  expect(new Set(failed.map(({ route, status }) => `${route} ${status}`))).toEqual(new Set([`${routes.messages} 400`]))
})

testAgent('codex', 'over a WebSocket prepares its request, and continues it by sending only what is new', async () => {
  const prompt = headless.codex.args('Find the secret word with exec_command')
  const run = await host.start('codex', {
    launch: [],
    agent: [...prompt, '-c', 'model_providers.dragoman.supports_websockets=true'],
    files: { 'secret.txt': 'the word is pear\n' },
  })
  await run.ended
  expect(run.out(), run.err()).toContain('The secret word is pear.')
  const log = host.takeLog()
  expect(log.filter(({ msg }) => msg === 'response on a socket ended')).toHaveLength(3)
  const requests = log.filter(({ msg, route }) => msg === 'request ended' && route === routes.responses)
  expect(requests.map(({ status }) => status)).toEqual([101])
})

const interrupted = [
  { name: 'claude', signal: 'SIGINT' },
  { name: 'codex', signal: 'SIGINT' },
  { name: 'qwen', signal: 'SIGTERM' },
  { name: 'pi', signal: 'SIGTERM' },
] as const

for (const { name, signal } of interrupted) {
  testAgent(name, `that is ended by ${signal} ends its run of the engine`, async () => {
    const busy = () => host.metric('dragoman_slots_busy{model="org/scripted"}')
    const cancelled = () => host.metric('dragoman_cancellations_total{reason="client-gone"}')
    const before = await cancelled()
    const run = await host.start(name, { launch: [], agent: headless[name].args('Answer slowly'), files: {} })
    await until(async () => (await busy()) > 0)
    run.child.kill(signal)
    await run.ended
    await until(async () => (await busy()) === 0)
    expect(await cancelled()).toBeGreaterThan(before)
  })
}

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { writeRandomModel } from '../support/llama/random-gguf.ts'
import { writeTrainedFor } from '../support/llama/trained-for.ts'
import { isFullLength, nightlyHint } from '../support/process/soak-length.ts'
import { type AgentHost, agentHint, installedAgent, openAgentHost } from './agent-host.ts'

/**
 * The built-in model knows this tool from its training. pi's own tools and instructions are a prompt of 2,100 tokens, four times as long as
 * the dialogues that a model of four million parameters has learned, and with the date and the folder in it; an extension replaces both.
 */
const extension = `
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
export default (pi) => {
  pi.on('before_agent_start', () => ({ systemPrompt: 'You are a helpful assistant.' }))
  pi.registerTool({
    name: 'read_file',
    label: 'read_file',
    description: 'Read a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    execute: async (id, { path }, signal, onUpdate, { cwd }) => ({
      content: [{ type: 'text', text: readFileSync(join(cwd, path), 'utf8') }],
      details: {},
    }),
  })
}
`

let host: AgentHost
let long: string
beforeAll(async () => {
  const settings = { threads: 1, toolStrategy: 'two-pass', defaults: { temperature: 0 } }
  host = await openAgentHost({ models: [{ id: 'tiny', engine: 'llama', source: builtinModel.path, ...settings }] })
  long = join(host.home, 'long.gguf')
  await writeTrainedFor(long, { from: builtinModel.path, tokens: 65_536 })
})
afterAll(() => host.close())

test.skipIf(installedAgent('pi') === undefined)(
  `pi reads a file with a real model, which calls the tool and answers from its result${agentHint('pi')}`,
  { timeout: 180_000 },
  async () => {
    const file = join(host.home, 'read-file.js')
    await writeFile(file, extension)
    const run = await host.start('pi', {
      launch: [],
      agent: ['--extension', file, '--no-builtin-tools', '-p', 'Read the file notes.txt.'],
      files: {
        'notes.txt': 'The secret word is pear.',
        // It would sum up every conversation that leaves less than 16,384 tokens of the context, and the whole context has 4,096.
        '.pi/settings.json': JSON.stringify({ compaction: { enabled: false } }),
      },
    })
    expect(await run.ended, run.err()).toBe(0)
    expect(run.out()).toContain('The secret word is pear.')
    const requests = host.takeLog().filter(({ msg, route }) => msg === 'request ended' && route === '/v1/chat/completions')
    expect(requests).toMatchObject([{ status: 200 }, { status: 200 }])
  },
)

/** Neither sends its own tools and instructions, of which this model understands nothing. */
const system = ['--system-prompt', 'You are a helpful assistant.']
const prompt = ['-p', 'What is the capital of France?']
const brief = {
  pi: ['--no-builtin-tools', ...system, ...prompt],
  claude: ['--tools', '', '--output-format', 'json', ...system, ...prompt],
} as const

/** What each says of the answer. */
const answered = {
  pi: (out: string) => expect(out.trim()).not.toBe(''),
  claude: (out: string) => {
    expect(JSON.parse(out)).toMatchObject({ is_error: false, modelUsage: { long: { contextWindow: 65_536 } } })
  },
} as const

for (const name of ['pi', 'claude'] as const) {
  test.skipIf(installedAgent(name) === undefined)(
    `${name} answers on a model that launch serves for it, with the context that it needs${agentHint(name)}`,
    { timeout: 180_000 },
    async () => {
      const run = await host.start(name, { launch: ['--model', long], agent: brief[name], files: {} })
      expect(await run.ended, run.err()).toBe(0)
      expect(run.err()).toContain('runs on long, which is served as long as it runs')
      answered[name](run.out())
    },
  )
}

test.skipIf(installedAgent('claude') === undefined || !isFullLength)(
  `claude's instructions and tools are answered by a model that launch serves, with as much output as its user wants${agentHint('claude')}${nightlyHint}`,
  { timeout: 900_000 },
  async () => {
    const model = join(host.home, 'random.gguf')
    await writeRandomModel(model, { contextLength: 65_536 })
    const captured = join(host.home, 'captured')
    const config = join(host.home, 'capturing.json')
    await writeFile(config, JSON.stringify({ log: { captureFolder: captured }, models: [] }))
    const run = await host.start('claude', {
      launch: ['--config', config, '--model', model],
      agent: [...prompt, '--output-format', 'json'],
      files: {},
      env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8' },
    })
    await run.ended
    const requests = await Promise.all(
      (await readdir(captured)).map(async (file) => JSON.parse(await readFile(join(captured, file), 'utf8'))),
    )
    // It asks some times more for the rest of an answer that was cut off.
    const asked = requests.filter(({ path }) => path.startsWith('/v1/messages'))
    expect(asked.length, run.err()).toBeGreaterThan(0)
    for (const { how, body } of asked) {
      expect(how).toContain('answered 200')
      expect(body.max_tokens).toBe(8)
      expect(body.tools.length).toBeGreaterThan(5)
    }
    expect(JSON.parse(run.out())).toMatchObject({ usage: { output_tokens: 8 * asked.length } })
  },
)

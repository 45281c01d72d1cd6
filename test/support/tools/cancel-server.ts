import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startApp, until } from '../http/app.ts'
import { openChat, type RawStream } from '../http/raw-client.ts'
import { installedFrom } from '../process/test-tools.ts'
import { hasSandbox, processesWith } from './sandbox.ts'

const packages = installedFrom('mcp-servers', new URL('../../mcp/package.json', import.meta.url))
/** The reference server of the protocol, where it is installed. */
export const everything = join(packages, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const program = fileURLToPath(new URL('../mcp/program.mjs', import.meta.url))

/** Where a request can be when it is cancelled; `answer`: the turn of the model after a call. */
export const phases = [
  'model',
  'search',
  'fetch',
  ...(hasSandbox ? (['python', 'terminal'] as const) : []),
  'mcp',
  'answer',
] as const
export type Phase = (typeof phases)[number] | 'python' | 'terminal' | 'everything'

export type CancelServer = {
  readonly url: string
  /** Asks for what runs for ever in a phase. */
  open(phase: Phase, cancelId: string): RawStream
  /** Until it runs. */
  running(phase: Phase): Promise<void>
  cancel(cancelId: string): Promise<void>
  /** What runs: connections, processes, calls, slots, in words. */
  left(): Promise<readonly string[]>
  /** How many searches and pages were asked for. */
  readonly asked: number
  /** A whole request with the tool of a phase, which ends by itself: what the model says. */
  complete(tool: 'search' | 'python' | 'mcp' | 'everything'): Promise<string>
  close(): Promise<void>
}

/** Processes of it are known by this number. */
const sleep = 'sleep 98765.4321'

/** A server with all kinds of tools, whose work lasts until it is cancelled. Nothing of it is a stub but the services of others. */
export async function startCancelServer(): Promise<CancelServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-tool-cancel-'))
  // Programs run as another user where the server is root.
  await chmod(folder, 0o711)
  const calls = join(folder, 'calls')
  await mkdir(calls)
  const pending = new Set<ServerResponse>()
  let asked = 0
  const hanging: RequestListener = ({ url = '' }, response) => {
    asked += 1
    if (url.includes('quick')) {
      const found = { results: [{ url: 'https://a.example/', title: 'Found', content: 'quick result' }] }
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
    }
    pending.add(response)
    response.once('close', () => pending.delete(response))
  }
  const service = await serve(hanging, '127.0.0.1')
  const pages = await serve(hanging, '127.0.0.2')
  let call = 0
  let askedBefore = 0
  const hangs = { delayMs: 3_600_000 }
  const toolCall = (name: string, args: object) => ({
    raw: `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`,
  })
  const python = `import subprocess\nsubprocess.run('${sleep}'.split())`
  const script = [
    { result: 'quick result[^]*', match: 'phase answer', reply: { raw: 'never said', ...hangs } },
    { result: 'quick result', reply: { raw: 'It is done.' } },
    { match: 'phase model', reply: { raw: 'never said', ...hangs } },
    { match: 'phase search', reply: toolCall('web_search', { query: 'slow' }) },
    { match: 'phase answer', reply: toolCall('web_search', { query: 'quick' }) },
    { match: 'phase fetch', reply: toolCall('web_search', { url: `${pages.url}/page` }) },
    { match: 'phase python', reply: toolCall('python', { code: python }) },
    { match: 'phase terminal', reply: toolCall('terminal', { command: `${sleep} & ${sleep}` }) },
    { match: 'phase mcp (\\S+)', reply: toolCall('docs__wait', { file: '$1' }) },
    { match: 'phase everything', reply: toolCall('real__trigger-long-running-operation', { duration: 3600, steps: 3600 }) },
    { match: 'complete search', reply: toolCall('web_search', { query: 'quick' }) },
    { match: 'complete python', reply: toolCall('python', { code: "print('quick result')" }) },
    { match: 'complete mcp', reply: toolCall('docs__echo', { text: 'quick result' }) },
    { match: 'complete everything', reply: toolCall('real__echo', { message: 'quick result' }) },
    { reply: { raw: 'unknown' } },
  ]
  await writeFile(join(folder, 'script.yaml'), JSON.stringify(script))
  const app = await startApp({
    models: [{ id: 'm', engine: 'fake', script: join(folder, 'script.yaml'), toolFormat: 'hermes', slots: 64 }],
    media: { allowedAddresses: ['127.0.0.2'] },
    tools: {
      webSearch: { kind: 'searxng', url: service.url },
      ...(hasSandbox && { python: true as const, terminal: true as const, sessions: { folder: join(folder, 'sandbox') } }),
      mcp: {
        docs: { command: process.execPath, args: [program] },
        ...(existsSync(everything) && { real: { command: process.execPath, args: [everything, 'stdio'] } }),
      },
    },
  })
  const names = { mcp: ['docs'], everything: ['real'], python: ['python'], terminal: ['terminal'] } as const
  const body = (words: string, tool: string) => ({
    model: 'm',
    messages: [{ role: 'user', content: words }],
    enable_tools: true,
    enabled_tools: names[tool as keyof typeof names] ?? ['web_search'],
  })
  const metric = (line: string) => app.metric(line)
  const sandboxed = () => [...processesWith(sleep.replaceAll(' ', '\0')), ...processesWith(join(folder, 'sandbox'))]
  const runs: Record<Phase, () => boolean | Promise<boolean>> = {
    model: async () => (await metric('dragoman_slots_busy{model="m"}')) > 0,
    answer: async () => asked > askedBefore && (await metric('dragoman_slots_busy{model="m"}')) > 0,
    search: () => pending.size > 0,
    fetch: () => pending.size > 0,
    python: () => processesWith(sleep.replaceAll(' ', '\0')).length > 0,
    terminal: () => processesWith(sleep.replaceAll(' ', '\0')).length > 1,
    mcp: () => readdirSync(calls).length > 0,
    // It tells nobody.
    everything: () => true,
  }
  const post = (path: string, given: object) =>
    fetch(`${app.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(given) })
  return {
    url: app.url,
    open(phase, cancelId) {
      call += 1
      askedBefore = asked
      const words = phase === 'mcp' ? `phase mcp ${join(calls, String(call))}` : `phase ${phase}`
      return openChat(app.url, { ...body(words, phase), stream: true, cancel_id: cancelId })
    },
    running: (phase) => until(runs[phase]),
    cancel: async (cancel_id) => void (await (await post('/api/inference/cancel', { cancel_id })).text()),
    async left() {
      const busy = await metric('dragoman_slots_busy{model="m"}')
      return [
        ...(pending.size > 0 ? [`${pending.size} connections`] : []),
        ...sandboxed().map((pid) => `process ${pid}`),
        ...readdirSync(calls).map((name) => `call ${name}`),
        ...(busy > 0 ? [`${busy} slots`] : []),
      ]
    },
    get asked() {
      return asked
    },
    async complete(tool) {
      const reply = await post('/v1/chat/completions', body(`complete ${tool}`, tool))
      return ((await reply.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? ''
    },
    async close() {
      await app.close()
      await Promise.all([service.close(), pages.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function serve(listener: RequestListener, host: string) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel } from '../../support/llama/models.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { startWorkers } from '../../support/process/serve-workers.ts'
import { startCachingFleet } from '../../support/upstream/caching-upstream.ts'

beforeAll(buildProgram)

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
type Usage = { readonly prompt_tokens: number; readonly prompt_tokens_details?: { readonly cached_tokens?: number } }
type Answer = { readonly choices: { readonly message: { readonly content: string } }[]; readonly usage: Usage }

async function serve(urls: readonly string[], settings: object = {}): Promise<RunningApp> {
  const endpoints = urls.map((url) => ({ url }))
  const model = { id: 'm', engine: 'remote' as const, endpoints, probe: false, ...settings }
  const app = await startApp({ models: [model], builtinModel: false })
  open.push(() => app.close())
  await until(async () => {
    const { servers } = (await (await fetch(`${app.url}/v1/models/m`)).json()) as { servers: { kind?: string; model?: string }[] }
    return servers.every((server) => JSON.stringify(server).includes('"kind"'))
  })
  return app
}

/** The same in three processes on one port. */
async function serveWorkers(urls: readonly string[]): Promise<{ readonly url: string }> {
  const model = { id: 'm', engine: 'remote' as const, endpoints: urls.map((url) => ({ url })), probe: false }
  const server = await startWorkers({ models: [model], builtinModel: false, server: { workers: 3 } })
  open.push(() => server.stop())
  return server
}

async function ask({ url }: { readonly url: string }, messages: readonly Message[], more: object = {}) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    // A new connection may go to another worker.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'm', messages, ...more }),
  })
  const answer = (await response.json()) as Answer
  expect(response.status, JSON.stringify(answer)).toBe(200)
  return { answer, affinity: response.headers.get('x-dragoman-affinity') }
}

test('six conversations on each of ten servers find at least 90 % of what the servers have cached', async () => {
  const fleet = await startCachingFleet(10, () => 20 + Math.random() * 40)
  open.push(() => fleet.close())
  const app = await serve(fleet.servers.map(({ url }) => url))
  const heard = new Map<string, number>()
  let reported = 0
  const converse = async (id: number) => {
    const messages: Message[] = [{ role: 'system', content: `You are assistant ${id % 6}. ${'Be brief. '.repeat(300)}` }]
    for (let turn = 0; turn < 6; turn++) {
      await pause(Math.random() * 200)
      messages.push({ role: 'user', content: `Question ${turn} of ${id}: ${'why? '.repeat(60)}` })
      const { answer, affinity } = await ask(app, messages)
      messages.push({ role: 'assistant', content: answer.choices[0]?.message.content ?? '' })
      const { prompt_tokens: read, prompt_tokens_details: details } = answer.usage
      if (2 * (details?.cached_tokens ?? 0) >= read) reported += 1
      heard.set(affinity ?? 'nothing', (heard.get(affinity ?? 'nothing') ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 60 }, (_, id) => converse(id)))
  const { hit, possible } = fleet.sums
  expect(hit / possible).toBeGreaterThanOrEqual(0.9)
  expect([...heard.keys()].toSorted().filter((outcome) => outcome !== 'moved' && outcome !== 'new')).toEqual(['home', 'known'])
  // What the servers say of their caches, not what was expected of them.
  expect(await app.metric('dragoman_affinity_total{model="m",outcome="hit"}')).toBe(reported)
}, 60_000)

test.each([
  { name: 'two servers in turn', start: async (urls: readonly string[]) => [await serve(urls), await serve(urls)] },
  { name: 'three workers', start: async (urls: readonly string[]) => [await serveWorkers(urls)] },
])(
  '$name send the turns of a conversation where they were read',
  async ({ start }) => {
    const fleet = await startCachingFleet(8, () => 5)
    open.push(() => fleet.close())
    const apps = await start(fleet.servers.map(({ url }) => url))
    let turns = 0
    const converse = async (id: number) => {
      const messages: Message[] = [{ role: 'system', content: `You are assistant ${id}. ${'Be brief. '.repeat(300)}` }]
      for (let turn = 0; turn < 6; turn++) {
        messages.push({ role: 'user', content: `Question ${turn} of ${id}: ${'why? '.repeat(60)}` })
        const { answer } = await ask(apps[turns++ % apps.length] as { url: string }, messages)
        messages.push({ role: 'assistant', content: answer.choices[0]?.message.content ?? '' })
      }
    }
    for (let id = 0; id < 24; id += 4) await Promise.all([0, 1, 2, 3].map((more) => converse(id + more)))
    expect(fleet.sums.hit / fleet.sums.possible).toBeGreaterThanOrEqual(0.9)
  },
  60_000,
)

test('a stream has the header before its first event', async () => {
  const fleet = await startCachingFleet(2, () => 1)
  open.push(() => fleet.close())
  const app = await serve(fleet.servers.map(({ url }) => url))
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hello' }] })
  for (const affinity of ['home', 'known']) {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(response.headers.get('x-dragoman-affinity')).toBe(affinity)
    await response.text()
  }
})

test('without affinity there is no header, and much less is found', async () => {
  const fleet = await startCachingFleet(4, () => 5)
  open.push(() => fleet.close())
  const app = await serve(
    fleet.servers.map(({ url }) => url),
    { affinity: 'off' },
  )
  const messages: Message[] = [{ role: 'user', content: 'x'.repeat(4000) }]
  for (let turn = 0; turn < 4; turn++) expect((await ask(app, messages)).affinity).toBeNull()
  expect(fleet.sums.hit).toBe(0)
})

/** A llama-server with random weights. */
async function startLlamaServer(): Promise<string> {
  const port = await freePort()
  const args = ['--host', '127.0.0.1', '--port', `${port}`, '--model', await randomModel(), '--alias', 'm']
  const sizes = ['--ctx-size', '20480', '--parallel', '10', '--threads', '1', '--jinja', '--no-webui']
  const child: ChildProcess = spawn(llamaServerBinary ?? '', [...args, ...sizes], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  open.push(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true)
  return `${url}/v1`
}

/** Twenty conversations of four turns, two at a time; how many prompt tokens were cached. */
async function cachedTokens(app: RunningApp): Promise<number> {
  let cached = 0
  const converse = async (id: number) => {
    const messages: Message[] = [{ role: 'system', content: `Assistant ${id}. ${'Be brief. '.repeat(20)}` }]
    for (let turn = 0; turn < 4; turn++) {
      messages.push({ role: 'user', content: `Question ${turn}: ${'why? '.repeat(10)}` })
      const { answer } = await ask(app, messages, { max_tokens: 4, temperature: 0 })
      messages.push({ role: 'assistant', content: 'Because.' })
      cached += answer.usage.prompt_tokens_details?.cached_tokens ?? 0
    }
  }
  const ids = Array.from({ length: 20 }, (_, id) => id)
  const client = async () => {
    for (let id = ids.shift(); id !== undefined; id = ids.shift()) await converse(id)
  }
  await Promise.all([client(), client()])
  return cached
}

test.skipIf(llamaServerBinary === undefined)(
  `two llama-servers have at least 90 % of the tokens cached that one has${llamaServerHint}`,
  async () => {
    const [one, first, second] = await Promise.all([startLlamaServer(), startLlamaServer(), startLlamaServer()])
    const alone = await cachedTokens(await serve([one]))
    const both = await cachedTokens(await serve([first, second]))
    expect(alone).toBeGreaterThan(1000)
    expect(both / alone).toBeGreaterThanOrEqual(0.9)
  },
  120_000,
)

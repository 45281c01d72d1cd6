import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'
import { answer as answerOf, knownEngine, ask as requestOf, upstream } from '../../support/upstream/remote-engine.ts'
import { chatChunk, doneLine, openStream, usageChunk } from '../../support/upstream/upstream.ts'

/** 1,000 by hand. */
const requests = Number(process.env.DRAGOMAN_FLEET_REQUESTS ?? 150)
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Two processes that answer from scripts, behind one model. */
async function fleet(): Promise<{ readonly app: RunningApp; readonly replicas: readonly ServeProcess[] }> {
  const home = await createServeHome('off', {}, { models: [{ id: 'm', engine: 'fake', script: 'from-request', slots: 64 }] })
  open.push(home.remove)
  const replicas = await Promise.all([home.start(), home.start()])
  const endpoints = replicas.map(({ url }) => ({ url: `${url}/v1` }))
  const app = await startApp({ models: [{ id: 'm', engine: 'remote', endpoints, slots: 64 }], builtinModel: false })
  open.push(() => app.close())
  return { app, replicas }
}

let asked = 0

/** The time that a whole answer took. Fails unless it is `ok`. No two prompts are alike, so that none is sought in a cache. */
async function ask({ url }: RunningApp, delayMs: number): Promise<number> {
  const beganMs = performance.now()
  asked += 1
  const messages = [
    { role: 'system', content: `Request ${asked}.` },
    { role: 'user', content: JSON.stringify({ chunks: ['ok'], delayMs }) },
  ]
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages }),
  })
  const answer = (await response.json()) as { choices?: { message: { content: string } }[] }
  expect(answer.choices?.[0]?.message.content, JSON.stringify(answer)).toBe('ok')
  return performance.now() - beganMs
}

type Server = { readonly host: string; readonly state: string; readonly active_requests: number }

async function serversOf({ url }: RunningApp): Promise<readonly Server[]> {
  return ((await (await fetch(`${url}/v1/models/m`)).json()) as { servers: Server[] }).servers
}

function moved({ logLines }: RunningApp): number {
  return logLines().filter(({ msg }) => msg === 'request moved from a silent server').length
}

test('what a stopped process holds without a token is answered by the other one; an honest slow prompt stays', async () => {
  const { app, replicas } = await fleet()
  // What is usual.
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 8 }, () => ask(app, 5)))
  // A slow prompt, on the replica that stays.
  const slow = ask(app, 8000)
  await until(async () => (await serversOf(app)).some(({ active_requests }) => active_requests === 1))
  const busy = (await serversOf(app)).find(({ active_requests }) => active_requests === 1)?.host ?? ''
  const silent = replicas.find(({ url }) => !url.endsWith(busy))
  const stoppedPid = silent?.pid ?? expect.unreachable('one replica has the slow prompt')
  process.kill(stoppedPid, 'SIGSTOP')
  open.push(async () => void process.kill(stoppedPid, 'SIGCONT'))
  const waits: number[] = []
  let left = requests
  const client = async () => {
    while (left-- > 0) waits.push(await ask(app, 20))
  }
  await Promise.all(Array.from({ length: 16 }, client))
  expect(waits).toHaveLength(requests)
  const movedFirst = moved(app)
  expect(movedFirst).toBeGreaterThan(0)
  // Back, it is used again.
  process.kill(stoppedPid, 'SIGCONT')
  await until(async () => {
    await Promise.all([ask(app, 5), ask(app, 5)])
    return (await serversOf(app)).every(({ state }) => state === 'healthy')
  })
  await slow
  expect(moved(app)).toBe(movedFirst)
  if (process.env.DRAGOMAN_FLEET_REQUESTS !== undefined) {
    const sorted = waits.toSorted((a, b) => a - b)
    console.log({ requests, moved: movedFirst, medianMs: sorted[sorted.length >> 1], slowestMs: sorted.at(-1) })
  }
}, 60_000)

test('a reply that stops in its middle, on a server that answers no checks, is continued by the other one', async () => {
  let skippedMs = 0
  const stops = await upstream(
    (_, response) => {
      openStream(response)
      response.write(chatChunk({ delta: { content: 'one two ' } }))
      // From here on, it is silent.
      stops.get = () => true
      skippedMs = 20_000
    },
    { ownedBy: 'vllm' },
  )
  const continued: unknown[] = []
  const continues = await upstream(
    ({ body }, response) => {
      continued.push((body.messages as { role: string; content: string }[]).at(-1))
      openStream(response)
      response.end(chatChunk({ delta: { content: 'three' }, finish_reason: 'stop' }) + usageChunk(3, 3) + doneLine)
    },
    { ownedBy: 'vllm' },
  )
  const engine = await knownEngine([stops, continues], { now: () => performance.now() + skippedMs })
  const { choices } = await answerOf(engine, requestOf('count'))
  expect(choices[0]?.parts).toEqual([{ type: 'text', text: 'one two three' }])
  expect(continued).toEqual([{ role: 'assistant', content: 'one two ' }])
}, 60_000)

test('while one server is taken out of use, killed and started again, no request fails', async () => {
  const homes = await Promise.all(
    [await freePort(), await freePort()].map((port) =>
      createServeHome('off', { port }, { models: [{ id: 'm', engine: 'fake', script: 'from-request', slots: 64 }] }),
    ),
  )
  for (const { remove } of homes) open.push(remove)
  const [stays, leaves] = await Promise.all(homes.map(({ start }) => start()))
  if (stays === undefined || leaves === undefined) return expect.unreachable('both have started')
  const endpoints = [stays, leaves].map(({ url }) => ({ url: `${url}/v1` }))
  const warmUp = { ms: 1000 }
  const app = await startApp({ models: [{ id: 'm', engine: 'remote', endpoints, slots: 64, warmUp }], builtinModel: false })
  open.push(() => app.close())
  let left = requests
  let answered = 0
  let isOver = false
  const client = async () => {
    while (left-- > 0 || !isOver) {
      await ask(app, 20)
      answered += 1
    }
  }
  const running = Promise.all(Array.from({ length: 8 }, client))
  const stateOf = async ({ url }: ServeProcess) => (await serversOf(app)).find(({ host }) => url.endsWith(host))
  const change = (name: 'drain' | 'undrain') =>
    fetch(`${app.url}/api/inference/replicas/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', url: `${leaves.url}/v1` }),
    })
  const script = async () => {
    await until(() => answered > 20)
    expect((await change('drain')).status).toBe(200)
    await until(async () => (await stateOf(leaves))?.active_requests === 0)
    expect((await stateOf(leaves))?.state).toBe('draining')
    expect((await change('undrain')).status).toBe(200)
    await until(async () => (await stateOf(leaves))?.active_requests !== 0)
    await leaves.kill()
    await until(async () => (await stateOf(leaves))?.state !== 'healthy')
    await homes[1]?.start()
    await until(async () => (await stateOf(leaves))?.state === 'healthy')
    isOver = true
  }
  await Promise.all([running, script()])
  expect(answered).toBeGreaterThanOrEqual(requests)
  if (process.env.DRAGOMAN_FLEET_REQUESTS !== undefined) console.log({ answered })
}, 60_000)

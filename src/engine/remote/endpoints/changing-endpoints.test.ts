import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  eventsOf,
  failure,
  fine,
  never,
  upstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, openStream, type ScriptedUpstream, usageChunk } from '../../../../test/support/upstream/upstream.ts'
import type { RemoteEngineOptions } from '../options.ts'
import { type FoundEndpoint, fixedSource, ReplaceableSource } from './source.ts'

const found = ({ url }: { readonly url: string }, more: Partial<FoundEndpoint> = {}): FoundEndpoint => ({
  url,
  weight: 1,
  ...more,
})

/** An engine whose servers the test changes. */
function open(servers: readonly FoundEndpoint[], options: Partial<RemoteEngineOptions> = {}) {
  const source = new ReplaceableSource(fixedSource(servers))
  const engine = engineOver([], { endpoints: source, ...options })
  return { engine, change: (...next: readonly FoundEndpoint[]) => source.replace(fixedSource(next)) }
}

/** A vLLM that counts what it is asked for. */
async function vllm(version = '1') {
  const server = await upstream(fine, { ownedBy: 'vllm' })
  const asked: string[] = []
  server.get = (path, response) => {
    asked.push(path)
    if (path !== '/version') return false
    response.end(JSON.stringify({ version }))
    return true
  }
  return {
    ...server,
    asked,
    get seen() {
      return server.seen
    },
  }
}

const hosts = (engine: ReturnType<typeof open>['engine']) => engine.capabilities.fleet?.replicas().map(({ host }) => host)
const hostOf = ({ url }: Pick<ScriptedUpstream, 'url'>) => new URL(url).host

test('a new server is asked for its models once, and taken for the like of the others', async () => {
  const [one, other] = [await vllm('7'), await vllm('7')]
  const { engine, change } = open([found(one)])
  await answer(engine, ask('hi'))
  expect(one.asked).toEqual(['/v1/models', '/version'])
  change(found(one), found(other))
  await until(() => engine.capabilities.fleet?.replicas()[1]?.found !== undefined)
  expect(other.asked).toEqual(['/v1/models'])
  expect(one.asked).toHaveLength(2)
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ found: { version: '7' } }, { found: { version: '7' } }])
})

test('one that lists the model otherwise is probed', async () => {
  const one = await vllm()
  const other = await upstream(fine, { ownedBy: 'sglang' })
  const { engine, change } = open([found(one)])
  await answer(engine, ask('hi'))
  change(found(one), found(other))
  await until(() => engine.capabilities.fleet?.replicas()[1]?.found?.kind === 'sglang')
})

test('a server that leaves gets no more requests, and the conversation continues with the others', async () => {
  const [one, other] = [await upstream(fine), await upstream(fine)]
  const { engine, change } = open([found(one)])
  await answer(engine, ask('hi'))
  change(found(other))
  expect(hosts(engine)).toEqual([hostOf(other)])
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  expect([one.seen.length, other.seen.length]).toEqual([1, 1])
})

test('a running reply ends where it began', async () => {
  let finish: () => void = () => undefined
  const one = await upstream((_, response) => {
    openStream(response)
    response.write(chatChunk({ delta: { content: 'o' } }))
    finish = () => void response.end(chatChunk({ delta: { content: 'k' }, finish_reason: 'stop' }) + usageChunk(1, 2) + doneLine)
  })
  const other = await upstream(fine)
  const { engine, change } = open([found(one)])
  const events = eventsOf(engine, ask('hi'))
  const seen: string[] = []
  for await (const event of events) {
    seen.push(event.type)
    if (event.type !== 'text-delta') continue
    change(found(other))
    await new Promise((resolve) => setTimeout(resolve, 20))
    finish()
  }
  expect(seen.at(-1)).toBe('usage')
  expect(other.seen).toHaveLength(0)
  expect(one.hangUps()).toBe(0)
})

test('a reply that takes longer than a server has to leave is continued elsewhere', async () => {
  const one = await upstream(
    (_, response) => {
      openStream(response)
      response.write(chatChunk({ delta: { content: 'be' } }) + usageChunk(3, 1))
    },
    { ownedBy: 'vllm' },
  )
  const other = await upstream(
    (_, response) => {
      openStream(response)
      response.end(chatChunk({ delta: { content: 'gun' }, finish_reason: 'stop' }) + usageChunk(4, 1) + doneLine)
    },
    { ownedBy: 'vllm' },
  )
  const { engine, change } = open([found(one)], { drainMs: 30 })
  const reply = answer(engine, ask('hi'))
  await until(() => one.seen.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  change(found(other))
  expect(textsOf(await reply)).toEqual(['begun'])
  await until(() => one.connections() === 0)
  expect(other.seen).toHaveLength(1)
})

test('the same address is used again after it was cut off', async () => {
  const one = await upstream(fine)
  const { engine, change } = open([found(one)], { drainMs: 0 })
  await answer(engine, ask('hi'))
  change()
  await until(() => one.connections() === 0)
  change(found(one))
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
})

test('another key and another weight need no new connection and no probe', async () => {
  const one = await vllm()
  const { engine, change } = open([found(one, { apiKey: 'first-key' })])
  await answer(engine, ask('hi'))
  const before = one.asked.length
  change(found(one, { apiKey: 'second-key', weight: 3 }))
  await answer(engine, ask('hi'))
  expect(one.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer first-key', 'Bearer second-key'])
  expect(one.asked).toHaveLength(before)
})

test('a server is checked with the key that it has now', async () => {
  const keys: (string | undefined)[] = []
  const one = await upstream(fine, { ownedBy: 'vllm' })
  one.get = (path, response) => {
    if (path !== '/health') return false
    keys.push(response.req.headers.authorization)
    response.end()
    return true
  }
  let nowMs = 0
  const { engine, change } = open([found(one, { apiKey: 'first-key' })], { now: () => nowMs })
  await answer(engine, ask('hi'))
  change(found(one, { apiKey: 'second-key' }))
  nowMs = 40_000
  await until(() => keys.length > 0)
  expect(keys[0]).toBe('Bearer second-key')
})

test('a request without a first token moves immediately, also when all servers are replaced', async () => {
  // Without the watch of every second.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const [silent, other] = [await upstream(() => undefined), await upstream(fine)]
  const { engine, change } = open([found(silent)])
  const reply = answer(engine, ask('hi'))
  await until(() => silent.seen.length === 1)
  change(found(other))
  expect(textsOf(await reply)).toEqual(['ok'])
})

test('a server that is taken out of use stays so until it leaves', async () => {
  const [one, other] = [await upstream(fine), await upstream(fine)]
  const { engine, change } = open([found(one), found(other)])
  await engine.ensureReady(never)
  await engine.capabilities.fleet?.setDraining(hostOf(one), true, never)
  const stateOfOne = () => engine.capabilities.fleet?.replicas().find(({ host }) => host === hostOf(one))?.state
  change(found(one, { weight: 3 }), found(other))
  expect(stateOfOne()).toBe('draining')
  change(found(other))
  change(found(one), found(other))
  expect(stateOfOne()).toBe('healthy')
})

test('spare servers are used only while there is no other', async () => {
  const [one, spare] = [await upstream(fine), await upstream(fine)]
  const { engine, change } = open([found(spare, { isSpare: true }), found(one)])
  await engine.ensureReady(never)
  await until(() => engine.capabilities.fleet?.replicas().every((replica) => replica.found !== undefined) === true)
  for (let turn = 0; turn < 4; turn++) await answer(engine, ask(`hi ${turn}`))
  expect([one.seen.length, spare.seen.length]).toEqual([4, 0])
  change(found(spare, { isSpare: true }))
  await answer(engine, ask('hi'))
  expect(spare.seen).toHaveLength(1)
})

test('without servers a model is ready, and twenty requests wait for the first one', async () => {
  const one = await upstream(fine)
  const { engine, change } = open([])
  await engine.ensureReady(never)
  expect(engine.state).toEqual({ type: 'ready' })
  const replies = Array.from({ length: 20 }, (_, turn) => answer(engine, ask(`hi ${turn}`)))
  await new Promise((resolve) => setTimeout(resolve, 50))
  change(found(one))
  expect((await Promise.all(replies)).flatMap(textsOf)).toEqual(Array.from({ length: 20 }, () => 'ok'))
})

test('the first server after none may need a while', async () => {
  const one = await upstream(fine)
  let isUp = false
  one.get = (_, response) => {
    if (isUp) return false
    response.writeHead(503).end()
    return true
  }
  const { engine, change } = open([])
  await engine.ensureReady(never)
  const reply = answer(engine, ask('hi'))
  change(found(one))
  await new Promise((resolve) => setTimeout(resolve, 100))
  isUp = true
  expect(textsOf(await reply)).toEqual(['ok'])
})

test('when no server comes in time, a request fails with the time to try again', async () => {
  const { engine } = open([], { holdMs: 20 })
  expect(await failure(engine)).toMatchObject({
    code: 'model-unavailable',
    message: 'the model has no server now, and none appeared within 20 ms; try again later',
    retryAfterMs: 5000,
  })
  expect(engine.state).toEqual({ type: 'ready' })
})

test('a model that is scaled to zero keeps what is known of it', async () => {
  const one = await vllm()
  const { engine, change } = open([found(one)])
  await answer(engine, ask('hi'))
  const { facts } = engine
  change()
  expect(engine.facts).toEqual(facts)
  expect(engine.state).toEqual({ type: 'ready' })
  change(found(one))
  await answer(engine, ask('hi'))
  expect(one.asked).toEqual(['/v1/models', '/version', '/v1/models'])
})

test('many servers are probed a few at a time, and none twice', async () => {
  // Without the probes for other versions.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let running = 0
  let most = 0
  const asked: string[] = []
  const server = await upstream(fine)
  server.get = (path, response) => {
    asked.push(path)
    running += 1
    most = Math.max(most, running)
    setTimeout(() => {
      running -= 1
      response.end(JSON.stringify({ data: [{ id: 'up' }] }))
    }, 5)
    return true
  }
  const servers = Array.from({ length: 200 }, (_, index) => found({ url: `${server.url}?replica=${index}` }))
  // The health checks begin at the end of their interval.
  const { engine } = open(servers, { random: () => 0.99 })
  await engine.ensureReady(never)
  await until(() => engine.capabilities.fleet?.replicas().every((replica) => replica.found !== undefined) === true)
  expect(most).toBeLessThanOrEqual(50)
  expect(new Set(asked.filter((path) => path.startsWith('/v1/models'))).size).toBe(200)
  expect(asked.filter((path) => path.startsWith('/v1/models'))).toHaveLength(200)
})

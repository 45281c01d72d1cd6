import { queryObjects } from 'node:v8'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../src/contract/engine.ts'
import { createFakeEngine } from '../../src/engine/fake/engine.ts'
import { Inbox } from '../../src/engine/llama/inboxes.ts'
import { LlamaServerEngine } from '../../src/engine/llama-server/engine.ts'
import { createRemoteEngine } from '../../src/engine/remote/engine.ts'
import { ReplyBody } from '../../src/engine/remote/transport/http-exchange.ts'
import { type CancelEngine, cancelEngines } from '../support/cancel-engines.ts'
import { until } from '../support/http/app.ts'
import { createTestServer, openWatchedServer, readAll, receive, sendChat } from '../support/http/test-server.ts'
import { llamaServerBinary } from '../support/llama/llama-server.ts'
import { randomModel } from '../support/llama/models.ts'
import { createRandomEngine } from '../support/llama/random-engine.ts'
import { soakLength } from '../support/process/soak-length.ts'

const contextLength = 4096
const log = pino({ level: 'silent' })
const never = new AbortController().signal
/** An engine that computes needs some milliseconds for each. */
const startsOf = { llama: soakLength(200), 'llama-server': soakLength(100), remote: soakLength(5000) }
const trials = 80
const slotsOf = { llama: 4, 'llama-server': 4, remote: 32 }

type Opened = { readonly engine: Engine; close(): Promise<void> }

async function openEngine(kind: CancelEngine): Promise<Opened> {
  const slots = slotsOf[kind]
  switch (kind) {
    case 'llama': {
      const engine = createRandomEngine({ slots, contextLength })
      return { engine, close: () => engine.close() }
    }
    case 'llama-server': {
      const locate = async () => ({
        binary: llamaServerBinary ?? '',
        modelPath: await randomModel(),
        contextLength,
        slots,
        threads: 1,
        flashAttention: 'auto' as const,
        extraArguments: [],
      })
      const engine = new LlamaServerEngine({
        id: 'm',
        log,
        locate,
        createUpstream: ({ url, apiKey, model }) =>
          createRemoteEngine({
            id: 'm',
            endpoints: [{ url, apiKey, weight: 1 }],
            profile: 'llama-server',
            upstreamModel: model,
            connections: slots,
            log,
          }),
      })
      return { engine, close: () => engine.close() }
    }
    case 'remote': {
      const upstream = createTestServer({ engine: createFakeEngine({ script: 'from-request' }), slots: 64, maxQueued: 64 })
      const endpoints = [{ url: `http://127.0.0.1:${await upstream.listen()}/v1`, weight: 1 }]
      const engine = createRemoteEngine({ id: 'm', endpoints, connections: 64, log })
      const close = async () => {
        await engine.close()
        await upstream.drain(0)
      }
      return { engine, close }
    }
  }
}

describe.each(cancelEngines)('requests and cancels that race on %s', { timeout: 180_000 }, (kind) => {
  const slots = slotsOf[kind]
  let opened: Opened
  beforeAll(async () => {
    opened = await openEngine(kind)
    await opened.engine.ensureReady(never)
  }, 120_000)
  afterAll(() => opened.close())

  /** A scripted server generates as slowly as a model that computes. */
  const content = kind === 'remote' ? JSON.stringify({ chunks: Array.from({ length: 4000 }, () => 'w '), delayMs: 5 }) : 'go'
  const body = (more: object) =>
    JSON.stringify({ model: 'default', messages: [{ role: 'user', content }], ignore_eos: true, max_tokens: 4000, ...more })

  async function openServer() {
    const server = await openWatchedServer({ engine: opened.engine, slots, maxQueued: 100 })
    const { port, deps, scheduler, logLines } = server
    const send = (more: object) => sendChat(port, body(more), { agent: false })
    const cancel = async (keys: object): Promise<void> => {
      const path = '/api/inference/cancel'
      await readAll(await receive(sendChat(port, JSON.stringify(keys), { path, agent: false })))
    }
    const stops = () => logLines.filter((line) => line.includes('"request stopped"'))
    const isIdle = () => deps.cancellations.size === 0 && scheduler.load.busy === 0 && scheduler.load.queued === 0
    return { deps, send, cancel, stops, isIdle }
  }
  type Opening = Awaited<ReturnType<typeof openServer>>

  async function inBatches(count: number, run: (index: number) => Promise<void>): Promise<void> {
    for (let from = 0; from < count; from += 40)
      await Promise.all(Array.from({ length: Math.min(40, count - from) }, (_, index) => run(from + index)))
  }

  /** A cancel before, with, or after its request. */
  async function cancelled({ send, cancel }: Opening, index: number): Promise<string> {
    const keys = { cancel_id: `run-${index}` }
    const first = index % 3 === 0 ? cancel(keys) : undefined
    if (index % 6 === 0) await first
    const request = send({ ...keys, stream: index % 2 === 0 })
    if (index % 3 === 1) await new Promise((resolve) => request.once('finish', resolve))
    const [reply] = await Promise.all([receive(request).then(readAll), first ?? cancel(keys)])
    return reply
  }

  test(`C21: of ${startsOf[kind]} cancels that race with the start of their run, none is lost`, async () => {
    const server = await openServer()
    await inBatches(startsOf[kind], async (index) => expect(await cancelled(server, index)).toContain('"finish_reason":"length"'))
    await until(server.isIdle)
    expect(server.deps.cancellations.earlySize).toBe(0)
    expect(server.stops()).toHaveLength(startsOf[kind])
  })

  test(`C9, C22: of ${trials} cancels that race with the end of their run, each finds it or is 0`, async () => {
    const { send, cancel, stops, isIdle, deps } = await openServer()
    await inBatches(trials, async (index) => {
      const session_id = `session-${index}`
      const request = send({ session_id, max_tokens: 1 + (index % 4), stream: index % 2 === 0 })
      const reply = receive(request).then(readAll)
      await Promise.race([reply, new Promise((resolve) => setTimeout(resolve, index % 40))])
      await cancel({ session_id })
      const text = await reply
      expect(text).toContain('"finish_reason":"length"')
      expect(text).not.toContain('"error"')
    })
    await until(isIdle)
    expect(deps.cancellations.earlySize).toBe(0)
    expect(stops().length).toBeLessThanOrEqual(trials)
  })

  test(`C13, C16: ${trials} requests that end, are cancelled or left leave nothing in memory`, async () => {
    const server = await openServer()
    const counted = { AbortController, Inbox, ReplyBody }
    const count = () =>
      Object.entries(counted).map(([name, kindOf]) => [name, queryObjects(kindOf, { format: 'count' })] as const)
    const run = async (index: number) => {
      if (index % 3 === 0) await cancelled(server, index)
      else if (index % 3 === 1) await readAll(await receive(server.send({ max_tokens: 2 })))
      else {
        const request = server.send({ session_id: 's', stream: true })
        const closed = new Promise((resolve) => request.once('close', resolve))
        setTimeout(() => request.destroy(), index % 20)
        await closed
      }
    }
    await inBatches(40, run)
    await until(server.isIdle)
    const before = count()
    await inBatches(trials, run)
    await until(server.isIdle)
    for (const [index, [name, after]] of count().entries())
      expect(after - (before[index]?.[1] ?? 0), name).toBeLessThan(trials / 4)
    expect(server.deps.cancellations.earlySize).toBe(0)
  })
})

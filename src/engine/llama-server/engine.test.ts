import { beforeEach, describe, expect, test } from 'vitest'
import { runOf } from '../../../test/support/http/iterate.ts'
import { capability } from '../../../test/support/llama/capability.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { emitAll } from '../../base/emit.ts'
import type { Engine, PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import type { ProcessExit, ProcessHandlers } from '../supervise/supervise.ts'
import { LlamaServerEngine } from './engine.ts'
import type { LoadedServer } from './launch.ts'
import type { Health } from './server-client.ts'
import type { ServerPlan } from './server-plan.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const killed: ProcessExit = { description: 'killed by SIGKILL', lastLines: [], fromOutside: true }
const crashed: ProcessExit = { description: 'killed by SIGSEGV', lastLines: [], fromOutside: false }
const plan: ServerPlan = {
  binary: 'llama-server',
  modelPath: '/m.gguf',
  contextLength: 100,
  slots: 1,
  flashAttention: 'auto',
  extraArguments: [],
}
const request: GenerationRequest = {
  ...plainRequest,
  id: 'r',
  model: 'm',
  prompt: { type: 'chat', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], ...plainChat },
}
const text = (delta: string): EngineEvent => ({ type: 'text-delta', choice: 0, delta })
const broken = new AppError('engine-failed', 'the connection was closed')

/** What the upstream of each start does, in turn. */
type Play = (end: (exit: ProcessExit) => void) => AsyncGenerator<EngineEvent>

describe('LlamaServerEngine', () => {
  let plays: Play[]
  let closed: number
  let seeds: (number | undefined)[]
  let health: (Health | 'ended')[]
  let engine: LlamaServerEngine

  beforeEach(() => {
    plays = []
    closed = 0
    seeds = []
    health = []
    let end: (exit: ProcessExit) => void = () => undefined
    let starts = 0
    engine = new LlamaServerEngine({
      id: 'm',
      log: quiet,
      locate: async () => plan,
      health: async () => {
        const state = health.shift() ?? 'ready'
        if (state !== 'ended') return state
        end(killed)
        return 'silent'
      },
      createUpstream: () => upstream(plays.shift(), (exit) => end(exit)),
      launch: (_plan, handlers: ProcessHandlers<LoadedServer>) => {
        starts += 1
        const endpoint = { url: `http://127.0.0.1:${starts}/v1`, apiKey: 'k', model: `x${starts}` }
        const exited = new Promise<ProcessExit>((resolve) => {
          end = resolve
        })
        const facts = { contextLength: 100, readsImages: false, readsAudio: false, readsVideo: false }
        queueMicrotask(() => handlers.onReady({ endpoint, facts }))
        return { pid: starts, exited, ping: () => undefined, kill: async () => end(killed) }
      },
    })
  })

  function upstream(play: Play | undefined, end: (exit: ProcessExit) => void): Engine {
    const prepared: PreparedGeneration = { inputTokens: 3, run: (_, emit) => emitAll((play ?? (() => nothing()))(end), emit) }
    return stubEngine({
      prepare: async ({ sampling }) => {
        seeds.push(sampling.seed)
        return prepared
      },
      close: async () => {
        closed += 1
      },
    })
  }

  async function run(): Promise<EngineEvent[]> {
    const events: EngineEvent[] = []
    for await (const event of runOf(await engine.prepare(request, never), never)) events.push(event)
    return events
  }

  test('everything that the upstream reports passes through', async () => {
    plays = [
      async function* () {
        yield text('a')
      },
    ]
    expect(await run()).toEqual([text('a')])
    expect(engine.facts).toEqual({ contextLength: 100, sampling: {}, modalities: { image: false, audio: false, video: false } })
    expect(engine.state).toEqual({ type: 'ready' })
  })

  test('a request without output yet is given to the next server when another process killed this one', async () => {
    plays = [
      async function* (end) {
        end(killed)
        yield* fails()
      },
      async function* () {
        yield text('b')
      },
    ]
    expect(await run()).toEqual([text('b')])
    expect(closed).toBe(1)
  })

  test('a request with output continues where it was, on the next server', async () => {
    const raw = (said: string): EngineEvent => ({ type: 'raw-text', choice: 0, text: said })
    const reasoning: EngineEvent = { type: 'reasoning-delta', choice: 0, delta: 'think' }
    plays = [
      async function* (end) {
        yield reasoning
        yield raw('one ')
        end(killed)
        yield* fails()
      },
      async function* () {
        yield reasoning
        yield raw('one ')
        yield raw('two')
      },
    ]
    expect(await run()).toEqual([reasoning, raw('one '), raw('two')])
    // The second try can only say the same with the same seed.
    expect(seeds).toEqual([expect.any(Number), seeds[0]])
  })

  test('a request whose server ended before its exit was known continues as well', async () => {
    health = ['silent', 'silent', 'ended']
    plays = [
      async function* () {
        yield text('one ')
        yield* fails()
      },
      async function* () {
        yield text('one two')
      },
    ]
    expect(await run()).toEqual([text('one '), text('two')])
    expect(health).toEqual([])
  })

  test('a request whose second output differs from the first fails with how the process ended', async () => {
    plays = [
      async function* (end) {
        yield text('a')
        end(killed)
        yield* fails()
      },
      async function* () {
        yield text('b')
      },
    ]
    await expect(run()).rejects.toMatchObject({ code: 'engine-failed', message: expect.stringContaining('killed by SIGKILL') })
  })

  test('a request that crashes its server is not given to the next', async () => {
    plays = [
      async function* (end) {
        end(crashed)
        yield* fails()
      },
    ]
    await expect(run()).rejects.toMatchObject({ message: expect.stringContaining('killed by SIGSEGV') })
  })

  test("a failure of a server that stays alive is only the request's", async () => {
    plays = [() => fails()]
    await expect(run()).rejects.toBe(broken)
  })

  test('a request prepared on one server runs on the next', async () => {
    plays = [
      async function* (end) {
        yield text('a')
        end(killed)
        yield* fails()
      },
      async function* () {
        yield text('b')
      },
    ]
    const prepared = await engine.prepare(request, never)
    await expect(run()).rejects.toThrow('SIGKILL')
    const events: EngineEvent[] = []
    for await (const event of runOf(prepared, never)) events.push(event)
    expect(events).toEqual([text('b')])
  })

  test('a call that the upstream does not support is refused, not left hanging', async () => {
    await expect(capability(engine, 'ranker').rank({ texts: ['a'] }, never)).rejects.toMatchObject({ code: 'unsupported-field' })
  })

  test('an unload lets running requests end and ends the server, and the next request starts another', async () => {
    const heard: string[] = []
    engine.onState(({ type }) => heard.push(type))
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    plays = [
      async function* () {
        yield text('a')
        await gate
        yield text('b')
      },
      async function* () {
        yield text('c')
      },
    ]
    const events = runOf(await engine.prepare(request, never), never)
    expect((await events.next()).value).toEqual(text('a'))
    const unloading = engine.unload({ drainMs: 60_000 })
    await expect(engine.prepare(request, never)).rejects.toMatchObject({ code: 'shutting-down' })
    finish()
    expect((await events.next()).value).toEqual(text('b'))
    expect((await events.next()).done).toBe(true)
    await unloading
    expect(heard).toEqual(['starting', 'loading', 'ready', 'draining', 'stopped'])
    expect(closed).toBeGreaterThan(0)
    expect(await run()).toEqual([text('c')])
    expect(engine.state).toEqual({ type: 'ready' })
  })

  test('an unload fails requests that run longer than allowed', async () => {
    plays = [
      async function* (end) {
        yield text('a')
        await new Promise<void>((resolve) => {
          stop = resolve
        })
        end(killed)
        yield* fails()
      },
    ]
    let stop: () => void = () => undefined
    const events = runOf(await engine.prepare(request, never), never)
    await events.next()
    const next = events.next()
    next.catch(() => undefined)
    await engine.unload({ drainMs: 1 })
    stop()
    await expect(next).rejects.toMatchObject({ code: 'engine-failed' })
    expect(engine.state).toEqual({ type: 'stopped' })
  })

  test('a closed engine has no server', async () => {
    await engine.ensureReady(never)
    await engine.close()
    expect(engine.state).toEqual({ type: 'stopped' })
    expect(closed).toBeGreaterThan(0)
  })
})

async function* fails(): AsyncGenerator<EngineEvent> {
  yield* await Promise.reject<EngineEvent[]>(broken)
}

async function* nothing(): AsyncGenerator<EngineEvent> {
  yield* await Promise.resolve<EngineEvent[]>([])
}

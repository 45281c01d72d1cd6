import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { anyone, contextOf } from '../../test/support/http/context.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { plainRequest } from '../contract/request.ts'
import type { TimeLimits } from '../contract/served-model.ts'
import { Cancellations, type StoppedRun } from './cancel/cancellations.ts'
import { generate } from './generate.ts'
import { takeSlot } from './take-slot.ts'
import { embed } from './uses/embed.ts'

const request = { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text: 'hello' } as const }
const text: EngineEvent = { type: 'text-delta', choice: 0, delta: 'a' }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Step = { readonly afterMs: number; readonly event: EngineEvent }

/** A request whose engine sends these events at these times after each other, and then hangs until its signal is aborted. */
function run(limits: TimeLimits, steps: readonly Step[], { busy = false, readerMs = 0 } = {}) {
  const stopped: StoppedRun[] = []
  const cancellations = new Cancellations({ now: () => Date.now(), onStopped: (run) => void stopped.push(run) })
  const handle = cancellations.open({ id: 'r', owner: anyone.id })
  const engine = stubEngine({
    prepare: async () => ({
      run: async (signal, emit) => {
        const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        for (const { afterMs, event } of steps) {
          await Promise.race([aborted, new Promise((resolve) => setTimeout(resolve, afterMs))])
          await emit(event)
        }
        await aborted
      },
    }),
    capabilities: {
      embedder: {
        embed: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
    },
  })
  const { model, ...rest } = contextOf(engine, { maxQueued: 2 })
  const context: RequestContext = {
    ...rest,
    model: { ...model, limits },
    signal: handle.signal,
    onLimit: (error) => handle.expire(error),
  }
  if (busy) void model.scheduler.enter({ ...context, id: 'other' }).slot({}, new AbortController().signal)
  const events: GenerationEvent[] = []
  const settle = async (work: Promise<unknown>) => {
    const outcome = work.then(
      () => 'ok',
      (error: unknown) => error,
    )
    await vi.advanceTimersByTimeAsync(1_000_000)
    handle.close()
    return { error: await outcome, events, stopped, load: model.scheduler.load }
  }
  return {
    generate: () =>
      settle(
        generate({ now: () => Date.now() }, [request], context).run((event) => {
          events.push(event)
          return readerMs === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, readerMs))
        }),
      ),
    embed: () => settle(embed({ model: 'm', inputs: [request.prompt] }, context)),
  }
}

const failure = (code: string, limit: string) =>
  expect.objectContaining({ code, message: expect.stringMatching(new RegExp(`\\b50 ms.*${limit}`)) })

describe('a request that reaches a limit of time', () => {
  test('in the queue fails, and leaves the queue', async () => {
    const { error, load } = await run({ queueMs: 50 }, [], { busy: true }).generate()
    expect(error).toEqual(failure('queue-timeout', 'limits.queueMs'))
    expect(load).toMatchObject({ busy: 1, queued: 0 })
  })

  test('before the first token fails, even while the prompt is read', async () => {
    const read: EngineEvent = { type: 'prompt-read', inputTokens: 1, cachedInputTokens: 0 }
    const { error, load } = await run({ firstTokenMs: 50 }, [{ afterMs: 20, event: read }]).generate()
    // The prompt was read: the failure is the last event.
    expect(error).toBe('ok')
    expect(load).toMatchObject({ busy: 0, queued: 0 })
    const silent = await run({ firstTokenMs: 50 }, []).generate()
    expect(silent.error).toEqual(failure('first-token-timeout', 'limits.firstTokenMs'))
  })

  test('the request between two tokens fails after what was generated', async () => {
    const steps = [10, 40, 40].map((afterMs) => ({ afterMs, event: text }))
    const { error, events } = await run({ stallMs: 50 }, steps).generate()
    expect(error).toBe('ok')
    expect(events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'text-delta', 'text-delta', 'error'])
    expect(events.at(-1)).toMatchObject({ error: failure('stall-timeout', 'limits.stallMs') })
  })

  test('the request of the whole answer ends it with what was generated, for its length', async () => {
    const steps = Array.from({ length: 50 }, () => ({ afterMs: 20, event: text }))
    const { error, events, stopped } = await run({ generationMs: 50 }, steps).generate()
    expect(error).toBe('ok')
    expect(events.slice(1).map((event) => (event.type === 'finish' ? event.reason : event.type))).toEqual([
      ...['text-delta', 'text-delta', 'text-delta'],
      ...['length', 'usage'],
    ])
    expect(stopped).toMatchObject([{ reason: 'deadline', afterMs: 70, limit: expect.stringContaining('limits.generationMs') }])
  })

  test('the request while it embeds fails as it does before a first token', async () => {
    const { error } = await run({ firstTokenMs: 50 }, []).embed()
    expect(error).toEqual(failure('first-token-timeout', 'limits.firstTokenMs'))
  })
})

describe('the time', () => {
  test('the time in which a reader holds up the engine does not count as a stall', async () => {
    const steps = [text, text, { type: 'finish', choice: 0, reason: 'stop' } as const].map((event) => ({ afterMs: 10, event }))
    const { events } = await run({ stallMs: 50 }, steps, { readerMs: 500 }).generate()
    expect(events.slice(0, 4).map(({ type }) => type)).toEqual(['start', 'text-delta', 'text-delta', 'finish'])
  })

  test('the time of the whole answer begins with its first token', async () => {
    const steps = [100, 20, 20].map((afterMs) => ({ afterMs, event: text }))
    const { events } = await run({ generationMs: 50 }, steps).generate()
    expect(events.filter(({ type }) => type === 'text-delta')).toHaveLength(3)
  })
})

test('a request without limits takes as long as it takes', async () => {
  const { generate } = run({}, [
    { afterMs: 900_000, event: text },
    { afterMs: 1, event: { type: 'finish', choice: 0, reason: 'stop' } },
    { afterMs: 1, event: { type: 'error', error: new AppError('engine-failed', 'broken') } },
  ])
  const { events } = await generate()
  expect(events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish', 'error'])
})

test('a request that gets a slot immediately waits for nothing', () => {
  const context = contextOf(stubEngine({}))
  const limited = { ...context, model: { ...context.model, limits: { queueMs: 50 } } }
  const ticket = context.model.scheduler.enter(limited)
  expect(takeSlot(ticket, {}, limited)).toBeUndefined()
  expect(vi.getTimerCount()).toBe(0)
  expect(context.model.scheduler.load.busy).toBe(1)
})

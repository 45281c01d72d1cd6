import { describe, expect, test, vi } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { playingEngine, shortUsage, stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { GenerationRecord } from '../../contract/usage.ts'
import { limitScheduler } from '../../quota/limit-scheduler.ts'
import { Quotas } from '../../quota/quotas.ts'
import { generate } from '../generate.ts'
import { FairScheduler } from '../schedule/fair-scheduler.ts'

const said = (text: string): EngineEvent[] => [
  { type: 'text-delta', choice: 0, delta: text },
  { type: 'finish', choice: 0, reason: 'stop' },
  shortUsage,
]

/** Runs a request on `engine`, whose model mirrors to a model on `target`. */
function open(engine: Engine, target: Engine, { percent = 100, quotas = new Quotas() } = {}) {
  const records: GenerationRecord[] = []
  const seen: GenerationRequest[] = []
  const watched: Engine = {
    ...target,
    prepare: (request, signal) => {
      seen.push(request)
      return target.prepare(request, signal)
    },
  }
  const scheduler = (of: Engine) => limitScheduler(new FairScheduler({ slots: 1, maxQueued: 1, engine: of }), quotas)
  const other: ServedModel = { id: 'other', engine: watched, scheduler: scheduler(watched) }
  const model: ServedModel = { id: 'm', engine, scheduler: scheduler(engine), mirror: { to: 'other', percent } }
  const deps = {
    now: () => performance.now(),
    others: { find: (name: string) => (name === 'other' ? other : undefined) },
    record: (record: GenerationRecord) => void records.push(record),
  }
  const events: GenerationEvent[] = []
  const run = (request: Partial<GenerationRequest> = {}, context: Parameters<typeof contextOf>[1] = {}) => {
    const prompt = { type: 'text', text: 'hello' } as const
    return generate(
      deps,
      [{ ...plainRequest, id: 'r', model: 'm', prompt, ...request }],
      contextOf(engine, { ...context, model }),
    ).run((event) => void events.push(event))
  }
  const outcomes = () => records.map(({ caller, model: id, outcome }) => `${caller} ${id} ${outcome}`).sort()
  return { run, events, seen, outcomes, other }
}

/** An engine that waits for `open`, and then says its text. */
function gated(text: string) {
  let open: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const engine = stubEngine({
    prepare: async () => ({
      run: async (signal, emit) => {
        await Promise.race([gate, new Promise((resolve) => signal.addEventListener('abort', resolve))])
        signal.throwIfAborted()
        for (const event of said(text)) await emit(event)
      },
    }),
  })
  return { engine, open }
}

describe('a copy of a request', () => {
  test('a copy of a request runs on the other model, behind all others, and its reply is discarded', async () => {
    const original = gated('original')
    const { run, events, seen, outcomes, other } = open(original.engine, playingEngine(said('copy')))
    const entered = vi.spyOn(other.scheduler, 'enter')
    const running = run({ callerKeys: new Map() as never })
    await expect.poll(() => outcomes()).toEqual(['mirror other ok'])
    original.open()
    await running
    expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))).toEqual(['original'])
    expect(outcomes()).toEqual(['anyone m ok', 'mirror other ok'])
    expect(entered.mock.calls[0]?.[0]).toMatchObject({ lane: 'background', principal: { id: 'mirror' } })
    expect(seen[0]).toMatchObject({ id: 'r-mirror', model: 'other' })
    expect(seen[0]).not.toHaveProperty('callerKeys')
  })

  test('a copy of a request ends with the original', async () => {
    const copy = gated('copy')
    const { run, outcomes, other } = open(playingEngine(said('original')), copy.engine)
    await run()
    await expect.poll(() => outcomes()).toEqual(['anyone m ok', 'mirror other cancelled'])
    expect(other.scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a copy of a request ends with an original that is cancelled', async () => {
    const controller = new AbortController()
    const { run, outcomes } = open(gated('original').engine, gated('copy').engine)
    const running = run({}, { signal: controller.signal })
    controller.abort(new AppError('cancelled', 'gone'))
    await expect(running).rejects.toThrow('gone')
    await expect.poll(() => outcomes()).toEqual(['anyone m cancelled', 'mirror other cancelled'])
  })

  test('a copy of a request that fails changes nothing for the original', async () => {
    const failing = stubEngine({ prepare: () => Promise.reject(new AppError('upstream-failed', 'broken')) })
    const original = gated('original')
    const { run, outcomes } = open(original.engine, failing)
    const running = run()
    await expect.poll(() => outcomes()).toEqual(['mirror other upstream-failed'])
    original.open()
    await running
    expect(outcomes()).toEqual(['anyone m ok', 'mirror other upstream-failed'])
  })

  test('a copy of a request counts against no key', async () => {
    const quotas = new Quotas()
    const quota = { account: 'k', requestsPerMinute: 10, tokensPerMinute: 100_000 }
    const original = gated('original')
    const { run, outcomes } = open(original.engine, playingEngine(said('copy')), { quotas })
    const running = run({}, { principal: { id: 'k', scopes: new Set(), quota } })
    await expect.poll(() => outcomes()).toEqual(['mirror other ok'])
    original.open()
    await running
    await expect.poll(() => quotas.states(quota).map(({ remaining }) => remaining)).toEqual([9, 100_000 - 2])
  })
})

describe('no copy is made', () => {
  test('of the rest of the conversations', async () => {
    const { run, seen } = open(playingEngine(said('original')), playingEngine(said('copy')), { percent: 10 })
    for (let at = 0; at < 200; at++) await run({ prompt: { type: 'text', text: `question ${at}` } })
    expect(seen.length).toBeGreaterThan(5)
    expect(seen.length).toBeLessThan(45)
  })

  test('of requests with media', async () => {
    const image = { type: 'media', kind: 'image', source: { type: 'url', url: 'http://pictures/x' } } as const
    const messages = [{ role: 'user' as const, content: [image] }]
    const { run, seen } = open(playingEngine(said('original')), playingEngine(said('copy')))
    await run({ prompt: { type: 'chat', ...plainChat, messages } }).catch(() => undefined)
    expect(seen).toEqual([])
  })
})

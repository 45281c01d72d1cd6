import { describe, expect, test, vi } from 'vitest'
import { type ContextOptions, contextOf } from '../../../test/support/http/context.ts'
import { playingEngine, shortUsage, stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { RequestContext } from '../../contract/context.ts'
import type { Engine, EngineState, ServerReport } from '../../contract/engine.ts'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { plainRequest } from '../../contract/request.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { limitScheduler } from '../../quota/limit-scheduler.ts'
import { Quotas } from '../../quota/quotas.ts'
import { generate } from '../generate.ts'
import { FairScheduler } from '../schedule/fair-scheduler.ts'
import type { Fallback } from './other-models.ts'

const said = (text: string): EngineEvent[] => [
  { type: 'text-delta', choice: 0, delta: text },
  { type: 'finish', choice: 0, reason: 'stop' },
  shortUsage,
]
const fails = (code: ErrorCode, message: string = code) => playingEngine([new AppError(code, message)])
const answers = (text: string) => playingEngine(said(text))
const model = (id: string, engine: Engine, more: Partial<ServedModel> = {}): ServedModel => ({
  id,
  engine,
  scheduler: new FairScheduler({ slots: 1, maxQueued: 1, engine }),
  ...more,
})
const request = { ...plainRequest, id: 'r', model: 'a', prompt: { type: 'text', text: 'x' } } as const

/** Runs a request on the first of these models, whose fallbacks the others are. */
async function run([first, ...others]: readonly [ServedModel, ...ServedModel[]], options: ContextOptions = {}) {
  const events: GenerationEvent[] = []
  const fallbacks: Fallback[] = []
  const models: string[] = []
  const records: string[] = []
  const context = contextOf(first.engine, {
    onModel: (id) => void models.push(id),
    ...options,
    model: { fallback: others.map(({ id }) => id), ...first },
  })
  const deps = {
    now: () => performance.now(),
    others: {
      find: (name: string) => others.find(({ id }) => id === name),
      onFallback: (fallback: Fallback) => void fallbacks.push(fallback),
    },
    record: (record: { model: string; outcome: string }) => void records.push(`${record.model}: ${record.outcome}`),
  }
  let error: AppError | undefined
  try {
    await generate(deps, [request], context).run((event) => void events.push(event))
  } catch (thrown) {
    error = AppError.from(thrown)
  }
  const text = events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : [])).join('')
  const starts = events.filter((event) => event.type === 'start')
  return { events, text, starts, fallbacks, models, records, error }
}

describe('a model that cannot serve', () => {
  test.each<ErrorCode>([
    'engine-failed',
    'internal',
    'model-unavailable',
    'shutting-down',
    'upstream-failed',
    'upstream-timeout',
  ])('the model because of %s is replaced by the next, and the reply says so', async (code) => {
    const { text, starts, fallbacks, models, records } = await run([model('a', fails(code)), model('b', answers('from b'))])
    expect(text).toBe('from b')
    expect(starts).toMatchObject([{ model: 'b', insteadOf: 'a' }])
    expect(fallbacks).toMatchObject([{ id: 'request', model: 'a', servedBy: 'b', error: { code } }])
    expect([models, records]).toEqual([['b'], ['b: ok']])
  })

  test.each<ErrorCode>([
    'invalid-request',
    'unsupported-field',
    'context-length-exceeded',
    'template-failed',
    'queue-full',
    'rate-limit-exceeded',
    'invalid-output',
  ])('is another thing than %s, which is the answer to the request', async (code) => {
    const other = model('b', stubEngine({ prepare: vi.fn() }))
    const { error, records } = await run([model('a', fails(code)), other])
    expect([error?.code, records]).toEqual([code, [`a: ${code}`]])
    expect(other.engine.prepare).not.toHaveBeenCalled()
  })

  test('before its first token; later, the failure ends the reply', async () => {
    const broken = playingEngine([{ type: 'text-delta', choice: 0, delta: 'half' }, new AppError('upstream-failed', 'it broke')])
    const { text, events, fallbacks, records } = await run([model('a', broken), model('b', answers('from b'))])
    expect(text).toBe('half')
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'upstream-failed' } })
    expect([fallbacks, records]).toEqual([[], ['a: upstream-failed']])
  })

  test('a model that cannot be loaded is replaced', async () => {
    const unloadable = stubEngine({
      state: { type: 'stopped' },
      ensureReady: () => Promise.reject(new AppError('model-unavailable', 'the file is gone')),
    })
    expect((await run([model('a', unloadable), model('b', answers('from b'))])).text).toBe('from b')
  })

  test('a model that cannot serve shows its `start` to nobody', async () => {
    const { starts } = await run([
      model('a', fails('engine-failed')),
      model('b', fails('engine-failed')),
      model('c', answers('c')),
    ])
    expect(starts).toMatchObject([{ model: 'c', insteadOf: 'a' }])
  })
})

describe('when no other model can serve either', () => {
  test.each<ErrorCode>(['model-unavailable', 'context-length-exceeded', 'unsupported-field', 'queue-full'])(
    'such as for %s, the failure of the first is the answer',
    async (code) => {
      const { error, models, records, fallbacks } = await run([
        model('a', fails('upstream-failed', 'a is away')),
        model('b', fails(code)),
      ])
      expect(error).toMatchObject({ code: 'upstream-failed', message: 'a is away' })
      expect([models, records, fallbacks]).toEqual([['b', 'a'], ['a: upstream-failed'], []])
    },
  )

  test('one that refuses is passed over for one that can', async () => {
    const { text, starts } = await run([
      model('a', fails('upstream-failed')),
      model('b', fails('context-length-exceeded')),
      model('c', answers('from c')),
    ])
    expect(text).toBe('from c')
    expect(starts).toMatchObject([{ model: 'c', insteadOf: 'a' }])
  })
})

describe('a model that is known to be down is not waited for', () => {
  const failed = (retryInMs: number | undefined): EngineState => ({
    type: 'failed',
    reason: 'nothing listens',
    ...(retryInMs !== undefined && { retryAtMs: performance.now() + retryInMs }),
  })
  const replica = (state: ServerReport['state']): ServerReport => ({
    host: 'h',
    state,
    lastFailure: 'refused',
    activeRequests: 0,
    outstandingTokens: 0,
  })
  const tried = async (parts: Partial<Engine>) => {
    const engine = { ...answers('from a'), ...parts }
    const { text, fallbacks } = await run([model('a', engine), model('b', answers('from b'))])
    return { text, reason: fallbacks[0]?.error.message }
  }

  test('such a model while it is going to be loaded again', async () => {
    expect(await tried({ state: failed(60_000) })).toEqual({ text: 'from b', reason: 'nothing listens' })
  })

  test.each([undefined, -1])('but it is tried where a request loads it (%s)', async (retryInMs) => {
    expect((await tried({ state: failed(retryInMs) })).text).toBe('from a')
  })

  test('such a model while all of its servers are', async () => {
    const fleet = (...states: ServerReport['state'][]) => ({
      capabilities: { fleet: { replicas: () => states.map(replica), setDraining: async () => [] } },
    })
    expect(await tried(fleet('unhealthy', 'draining'))).toEqual({
      text: 'from b',
      reason: "no server of model 'a' can be used now: refused",
    })
    expect((await tried(fleet('unhealthy', 'half-open'))).text).toBe('from a')
    expect((await tried(fleet())).text).toBe('from a')
  })

  test('and another that is down is passed over, too', async () => {
    const down = { ...answers('from b'), state: failed(60_000) }
    const { text } = await run([model('a', fails('engine-failed')), model('b', down), model('c', answers('from c'))])
    expect(text).toBe('from c')
  })
})

const silent = stubEngine({
  prepare: async () => ({
    run: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  }),
})

describe('a version that a request pins', () => {
  const versions = [{ name: 'new', percent: 0, id: 'a@new' }]
  const pin = (version: ServedModel, options: ContextOptions = {}) =>
    run([model('a', answers('from a'), { versions }), version], { version: 'new', ...options })

  test('the version is the model of the record, also where it fails', async () => {
    expect((await pin(model('a@new', answers('from new')))).records).toEqual(['a@new: ok'])
    expect((await pin(model('a@new', fails('invalid-request')))).records).toEqual(['a@new: invalid-request'])
    expect((await pin(model('a@new', fails('upstream-failed')))).records).toEqual(['a@new: upstream-failed'])
  })

  test('the version ends the request where it reaches a limit of time', async () => {
    const onLimit = vi.fn()
    const { error, records } = await pin(model('a@new', silent, { limits: { firstTokenMs: 5 } }), { onLimit })
    expect(onLimit).toHaveBeenCalledExactlyOnceWith(error)
    expect(records).toEqual(['a@new: first-token-timeout'])
  })
})

describe('a limit of time', () => {
  test('before the first token ends the try, not the request', async () => {
    const onLimit = vi.fn()
    const { text, fallbacks } = await run([model('a', silent, { limits: { firstTokenMs: 5 } }), model('b', answers('from b'))], {
      onLimit,
    })
    expect(text).toBe('from b')
    expect(fallbacks).toMatchObject([{ error: { code: 'first-token-timeout' } }])
    expect(onLimit).not.toHaveBeenCalled()
  })

  test('in the queue, too', async () => {
    const busy = model('a', silent, { limits: { queueMs: 5 } })
    const holder = busy.scheduler.enter({
      id: 'other',
      principal: { id: 'p', scopes: new Set() },
      signal: new AbortController().signal,
    })
    await holder.slot({}, new AbortController().signal)
    const { text, fallbacks } = await run([busy, model('b', answers('from b'))])
    expect(text).toBe('from b')
    expect(fallbacks).toMatchObject([{ error: { code: 'queue-timeout' } }])
    expect(busy.scheduler.load).toMatchObject({ queued: 0, busy: 1 })
  })

  test('a limit of time that no other model makes up for ends the request as ever', async () => {
    const onLimit = vi.fn()
    const { error } = await run([model('a', silent, { limits: { firstTokenMs: 5 } }), model('b', fails('engine-failed'))], {
      onLimit,
    })
    expect(error?.code).toBe('first-token-timeout')
    expect(onLimit).toHaveBeenCalledExactlyOnceWith(error)
  })

  test('a limit of time after the first token ends the request', async () => {
    const stalling = stubEngine({
      prepare: async () => ({
        run: (signal, emit) => {
          void emit({ type: 'text-delta', choice: 0, delta: 'half' })
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
        },
      }),
    })
    const controller = new AbortController()
    const onLimit: RequestContext['onLimit'] = (error) => controller.abort(error)
    const { text, events, fallbacks } = await run(
      [model('a', stalling, { limits: { stallMs: 5 } }), model('b', answers('from b'))],
      { onLimit, signal: controller.signal },
    )
    expect(text).toBe('half')
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'stall-timeout' } })
    expect(fallbacks).toEqual([])
  })
})

describe('a cancel', () => {
  test('ends the request on whichever model it runs, and no other is tried', async () => {
    const controller = new AbortController()
    const reason = new AppError('cancelled', 'the client is gone')
    const cancelling = stubEngine({
      prepare: async () => {
        controller.abort(reason)
        throw new AppError('upstream-failed', 'it broke')
      },
    })
    const others = [model('b', answers('from b'))] as const
    expect((await run([model('a', cancelling), ...others], { signal: controller.signal })).error).toBe(reason)
    const again = new AbortController()
    const second = stubEngine({
      prepare: async () => {
        again.abort(reason)
        throw new AppError('upstream-failed', 'it broke')
      },
    })
    const { error, text } = await run([model('a', fails('engine-failed')), model('b', second), ...others], {
      signal: again.signal,
    })
    expect([error, text]).toEqual([reason, ''])
  })
})

test('the limits of a key count one request, and the tokens of what served', async () => {
  const quotas = new Quotas()
  const quota = { account: 'k', requestsPerMinute: 10, tokensPerMinute: 100_000 }
  const limited = (id: string, engine: Engine) =>
    model(id, engine, { scheduler: limitScheduler(new FairScheduler({ slots: 1, maxQueued: 1, engine }), quotas) })
  const principal = { id: 'k', scopes: new Set<never>(), quota }
  const { text } = await run([limited('a', fails('upstream-failed')), limited('b', answers('from b'))], { principal })
  expect(text).toBe('from b')
  await expect.poll(() => quotas.states(quota).map(({ remaining }) => remaining)).toEqual([9, 100_000 - 2])
})

test('the limits of a key are the same on every model', async () => {
  const limit = fails('rate-limit-exceeded')
  const { error } = await run([model('a', fails('upstream-failed')), model('b', limit), model('c', answers('from c'))])
  expect(error?.code).toBe('rate-limit-exceeded')
})

test('without fallbacks, a failure is the answer, and a model that is down is tried', async () => {
  const { error } = await run([model('a', fails('upstream-failed'))])
  expect(error?.code).toBe('upstream-failed')
})

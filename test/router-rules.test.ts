import { describe, expect, test } from 'vitest'
import { noProgress } from '../src/engine/remote/fleet/attempts/try-replicas.ts'
import { Breaker, type BreakerResult } from '../src/engine/remote/fleet/breaker.ts'
import { RetryBudget } from '../src/engine/remote/fleet/retry/retry-budget.ts'
import { statusFailed } from '../src/engine/remote/transport/failed-request.ts'
import { toAppError, UpstreamError } from '../src/engine/remote/transport/upstream-error.ts'
import { virtualFleet } from './support/upstream/virtual-fleet.ts'

const replyOf = (status: number, retryAfter?: string) => () =>
  statusFailed({ status, said: '{"error":{"message":"boom"}}', retryAfter, host: 'r' })
const refused = () => new UpstreamError({ type: 'connection', isRefused: true }, 'refused')
const reset = () => new UpstreamError({ type: 'connection', isRefused: false }, 'reset')
const truncated = () => new UpstreamError({ type: 'truncated' }, 'it broke')

/** Routers in virtual time; `end` says how an attempt at one of them ends, undefined for well. */
function routers(count: number, end: (id: string, client: string) => (() => Error) | undefined) {
  const fleet = virtualFleet('vllm', count, { areRouters: true, budget: new RetryBudget() })
  const { time } = fleet
  const attempts: string[] = []
  const ask = async (client = 'a') => {
    const startMs = time.nowMs
    let own = 0
    const attempt = async (id: string) => {
      own += 1
      attempts.push(id)
      await time.sleep(50)
      const failure = end(id, client)
      if (failure !== undefined) throw failure()
    }
    const error = await fleet
      .send(attempt, () => noProgress, client)
      .then(
        () => undefined,
        (reason: unknown) => reason as UpstreamError,
      )
    return { error, attempts: own, tookMs: time.nowMs - startMs }
  }
  const within = async <T>(ms: number, work: Promise<T>): Promise<T> =>
    (await Promise.all([work, time.runTo(time.nowMs + ms)]))[0]
  return { time, attempts, ask, within, states: () => fleet.reports().map(({ breaker }) => breaker) }
}

describe('an attempt at a router', () => {
  test.each<[string, () => Error, number]>([
    ['a refused connection', refused, 2],
    ['a connection that breaks before an answer', reset, 2],
    ['a reply that breaks before its first token', truncated, 2],
    ['status 429 that says when', replyOf(429, '2'), 1],
    ['status 503 that says when', replyOf(503, '5'), 1],
    ['status 429 that does not say', replyOf(429), 1],
    ['status 503 that does not say', replyOf(503), 1],
    ...[500, 502, 504, 408, 400, 404, 422].map((code): [string, () => Error, number] => [`status ${code}`, replyOf(code), 1]),
  ])('%s, when it is alone: attempts %#', async (_, failure, attempts) => {
    const { ask, within } = routers(1, () => failure)
    expect(await within(60_000, ask())).toMatchObject({ attempts })
  })

  test.each<[string, () => Error, number]>([
    ['has no servers left (503)', replyOf(503), 2],
    ['refuses our key', replyOf(401), 2],
    ['refuses the connection', refused, 2],
    ['has no room', replyOf(429, '1'), 2],
    ['has failed with its own retries (500)', replyOf(500), 1],
  ])('that %s, beside another one', async (_, failure, attempts) => {
    const { ask, within } = routers(2, (id) => (id === 'r0' ? failure : undefined))
    const result = await within(60_000, ask())
    expect(result.attempts).toBe(attempts)
    expect(result.error === undefined).toBe(attempts === 2)
  })

  test.each<[() => Error, number]>([
    [replyOf(503), 1000],
    [replyOf(429), 1000],
    [replyOf(503, '18'), 18_000],
    [refused, 1000],
  ])('that has no room, or is away, tells the client when to come back: %#', async (failure, retryAfterMs) => {
    const { ask, within } = routers(1, () => failure)
    const { error } = await within(60_000, ask())
    expect(toAppError(error)).toMatchObject({ retryAfterMs })
  })
})

describe('a router alone', () => {
  test.each<[string, () => Error]>([
    ['500', replyOf(500)],
    ['503', replyOf(503)],
    ['503 with Retry-After', replyOf(503, '18')],
    ['429', replyOf(429)],
    ['a broken reply', truncated],
  ])('serves others at once while one client fails once a second with %s', async (_, failure) => {
    const { time, ask, states } = routers(1, (_id, client) => (client === 'bad' ? failure : undefined))
    const took: number[] = []
    const every = async (ms: number, times: number, client: string) => {
      for (let sent = 0; sent < times; sent++) {
        void ask(client).then(
          ({ tookMs, error }) => client === 'bad' || took.push(error === undefined ? tookMs : Number.POSITIVE_INFINITY),
        )
        await time.sleep(ms)
      }
    }
    void every(1000, 40, 'bad')
    void every(500, 80, 'good')
    await time.runTo(60_000)
    expect(took).toHaveLength(80)
    expect(Math.max(...took)).toBe(50)
    expect(states()).toEqual(['closed'])
  })

  test('is asked by every request, and answers the first after it is back', async () => {
    let isDown = true
    const { ask, within, time, states } = routers(1, () => (isDown ? refused : undefined))
    for (let turn = 0; turn < 5; turn++) expect(await within(5000, ask())).toMatchObject({ attempts: 2, tookMs: 1100 })
    expect(states()).not.toEqual(['closed'])
    isDown = false
    time.nowMs += 10
    expect(await within(5000, ask())).toMatchObject({ attempts: 1, tookMs: 50, error: undefined })
  })

  test('that starts again within a second fails nobody', async () => {
    let isDown = true
    const { ask, within, time } = routers(1, () => (isDown ? refused : undefined))
    void time.sleep(900).then(() => {
      isDown = false
    })
    expect(await within(5000, ask())).toMatchObject({ attempts: 2, error: undefined })
  })
})

describe('the breaker of a router', () => {
  const use = (breaker: Breaker, result: BreakerResult, { client, nowMs }: { client?: string; nowMs: number }) => {
    const pass = breaker.enter(nowMs)
    if (pass === undefined) throw new Error('it admits nothing')
    if (client !== undefined) pass.client = client
    breaker.leave(pass, result, nowMs)
  }

  test('opens when five clients fail and nobody has succeeded for ten seconds', () => {
    const breaker = new Breaker({ random: () => 1, isRouter: true })
    for (let second = 0; second < 10; second++) {
      for (const client of ['a', 'b', 'c', 'd', 'e']) use(breaker, 'doubtful', { client, nowMs: second * 1000 })
    }
    expect(breaker.state(9999)).toBe('closed')
    use(breaker, 'doubtful', { client: 'a', nowMs: 10_000 })
    expect(breaker.state(10_000)).toBe('open')
  })

  test('stays closed for four clients, however long, and for one success in between', () => {
    const breaker = new Breaker({ random: () => 1, isRouter: true })
    for (let second = 0; second < 60; second++) {
      for (const client of ['a', 'b', 'c', 'd']) use(breaker, 'doubtful', { client, nowMs: second * 1000 })
    }
    use(breaker, 'ok', { nowMs: 60_000 })
    for (const client of ['a', 'b', 'c', 'd', 'e']) use(breaker, 'doubtful', { client, nowMs: 61_000 })
    expect(breaker.state(61_000)).toBe('closed')
  })

  test('opens at once for a refused connection and after three failed checks', () => {
    const one = new Breaker({ random: () => 1, isRouter: true })
    use(one, 'refused', { nowMs: 0 })
    expect(one.state(0)).toBe('open')
    const other = new Breaker({ random: () => 1, isRouter: true })
    for (let check = 0; check < 3; check++) other.onCheck(false, check)
    expect(other.state(3)).toBe('open')
  })
})

describe('two routers', () => {
  test('share the requests, and a conversation is kept at neither', async () => {
    const { ask, within, attempts } = routers(2, () => undefined)
    for (let turn = 0; turn < 10; turn++) await within(1000, ask())
    expect(attempts.filter((id) => id === 'r0')).toHaveLength(5)
  })

  /** One request each 400 ms, of seven clients in turn. */
  function load({ ask, time }: Pick<ReturnType<typeof routers>, 'ask' | 'time'>, requests: number) {
    const errors: unknown[] = []
    const send = async () => {
      for (let turn = 0; turn < requests; turn++) {
        void ask(`c${turn % 7}`).then(({ error }) => error !== undefined && errors.push(error))
        await time.sleep(400)
      }
    }
    void send()
    return errors
  }

  test('fail over: one that is gone costs nobody a request', async () => {
    const fleet = routers(2, (id) => (id === 'r0' ? refused : undefined))
    const errors = load(fleet, 100)
    await fleet.time.runTo(60_000)
    expect(errors).toEqual([])
    expect(fleet.attempts.filter((id) => id === 'r1')).toHaveLength(100)
  })

  test('fail over: one that fails everybody is ejected after ten seconds', async () => {
    const fleet = routers(2, (id) => (id === 'r0' ? replyOf(500) : undefined))
    const errors = load(fleet, 150)
    await fleet.time.runTo(12_000)
    expect(fleet.states()).toEqual([expect.stringMatching('open'), 'closed'])
    const before = errors.length
    await fleet.time.runTo(60_000)
    // Of the 120 since, half would be its share.
    expect(errors.length - before).toBeLessThan(15)
  })
})

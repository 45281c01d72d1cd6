import { expect, test } from 'vitest'
import { startHealthChecks } from './health-check.ts'
import { Pool, type PoolEndpoint } from './pool.ts'

test('due checks run in parallel, and their results reach the pool', async () => {
  const clock = createClock()
  const pool = createPool(['a', 'b'])
  let checks = 0
  const health = startHealthChecks({
    ...clock,
    pool,
    check: ({ id }) => {
      checks += 1
      return id === 'a' ? Promise.resolve() : Promise.reject(new Error('no way'))
    },
  })
  expect(checks).toBe(2)
  for (let second = 0; second < 25; second++) await clock.advance(1000)
  const [a, b] = pool.describe(clock.now())
  expect(a).toMatchObject({ breaker: 'closed' })
  expect(b).toMatchObject({ lastFailure: 'health check failed' })
  expect(b?.breaker).not.toBe('closed')
  await health.stop()
})

test.each([
  { name: 'obeys its signal', isObeying: true },
  { name: 'ignores its signal', isObeying: false },
])('a check that takes too long has failed, also when it $name', async ({ isObeying }) => {
  const clock = createClock()
  const pool = createPool(['a'])
  const signals: AbortSignal[] = []
  const health = startHealthChecks({
    ...clock,
    pool,
    check: (_, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => {
        if (isObeying) signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
    timeoutMs: 3000,
  })
  await clock.advance(2999)
  expect(pool.describe(clock.now())[0]?.lastFailure).toBeUndefined()
  await clock.advance(1)
  expect(pool.describe(clock.now())[0]?.lastFailure).toBe('health check failed')
  expect(signals[0]?.aborted).toBe(true)
  await health.stop()
})

test('a good check is not aborted: its reply may still be draining', async () => {
  const clock = createClock()
  const signals: AbortSignal[] = []
  const health = startHealthChecks({
    ...clock,
    pool: createPool(['a']),
    check: async (_, signal) => {
      signals.push(signal)
    },
  })
  await clock.advance(1000)
  // Its time limit has ended with it; the wait for the next tick is left.
  expect(clock.timers()).toBe(1)
  await clock.advance(60_000)
  await health.stop()
  expect(signals.length).toBeGreaterThan(0)
  expect(signals.filter(({ aborted }) => aborted)).toEqual([])
})

test('stop ends checks that hang, reports nothing to the pool, and leaves no timer', async () => {
  const clock = createClock()
  const pool = createPool(['a'])
  const signals: AbortSignal[] = []
  const health = startHealthChecks({
    ...clock,
    pool,
    check: (_, signal) => {
      signals.push(signal)
      return new Promise(() => undefined)
    },
  })
  await health.stop()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(pool.describe(0)[0]?.lastFailure).toBeUndefined()
  expect(clock.timers()).toBe(0)
  await clock.advance(60_000)
  expect(signals).toHaveLength(1)
  await health.stop()
})

test('25 checks run at a time, and the time of one begins when its turn has come', async () => {
  const clock = createClock()
  const ids = Array.from({ length: 60 }, (_, index) => `${index}`)
  const pool = createPool(ids)
  let running = 0
  let most = 0
  const health = startHealthChecks({
    ...clock,
    pool,
    // The first ones hang.
    check: async ({ id }, signal) => {
      running += 1
      most = Math.max(most, running)
      if (Number(id) < 25) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      running -= 1
      signal.throwIfAborted()
    },
    timeoutMs: 5000,
  })
  for (let second = 0; second < 6; second++) await clock.advance(1000)
  expect(most).toBe(25)
  const failed = pool.describe(clock.now()).filter(({ lastFailure }) => lastFailure !== undefined)
  expect(failed.map(({ id }) => id)).toEqual(ids.slice(0, 25))
  await health.stop()
})

function createPool(ids: string[]): Pool<PoolEndpoint> {
  return new Pool(
    ids.map((id) => ({ id, weight: 1 })),
    { breaker: { random: () => 0.5 } },
  )
}

function createClock() {
  let nowMs = 0
  let timers: { atMs: number; fire: () => void }[] = []
  return {
    now: () => nowMs,
    timers: () => timers.length,
    after: (ms: number, fire: () => void) => {
      const timer = { atMs: nowMs + ms, fire }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    async advance(ms: number): Promise<void> {
      nowMs += ms
      const due = timers.filter(({ atMs }) => atMs <= nowMs)
      timers = timers.filter((timer) => !due.includes(timer))
      for (const { fire } of due) fire()
      // By the next turn of the event loop, all promises of the timers have settled.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

import { expect, test } from 'vitest'
import { virtualFleet } from '../../../../../test/support/upstream/virtual-fleet.ts'
import { statusFailed } from '../../transport/failed-request.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { noProgress } from '../attempts/try-replicas.ts'
import { RetryBudget } from './retry-budget.ts'

const unavailable = () => statusFailed({ status: 503, said: '', retryAfter: undefined, host: 'r' })

test('three retries may fail in ten seconds, or a fifth of the requests', () => {
  const budget = new RetryBudget()
  const fail = (times: number, nowMs: number) =>
    Array.from({ length: times }, () => budget.take(nowMs, true)).filter((settle) => {
      settle?.(false, nowMs)
      return settle !== undefined
    }).length
  const failing = (times: number, nowMs: number) => {
    let granted = 0
    for (let turn = 0; turn < times; turn++) granted += fail(1, nowMs)
    return granted
  }
  expect(failing(10, 0)).toBe(3)
  expect(failing(10, 9000)).toBe(0)
  expect(failing(10, 11_000)).toBe(3)
  for (let count = 0; count < 100; count++) budget.begin(30_000)
  expect(failing(50, 30_000)).toBe(20)
})

test('retries that are answered elsewhere are free', () => {
  const budget = new RetryBudget()
  for (let count = 0; count < 100; count++) {
    const settle = budget.take(0, true)
    expect(settle).toBeDefined()
    settle?.(true, 0)
  }
})

test('retries with nowhere else to go are counted while they run', () => {
  const budget = new RetryBudget()
  const open = [1, 2, 3].map(() => budget.take(0, false))
  expect(open.every((settle) => settle !== undefined)).toBe(true)
  expect(budget.take(0, false)).toBeUndefined()
  open[0]?.(true, 10)
  expect(budget.take(20, false)).toBeDefined()
})

/** How many attempts a number of requests at once cost, when each attempt ends like this. */
async function attemptsOf(requests: number, count: number, end: () => Error) {
  const { time, send } = virtualFleet('vllm', count, { budget: new RetryBudget() })
  let attempts = 0
  const attempt = async () => {
    attempts += 1
    await time.sleep(50)
    throw end()
  }
  const all = Array.from({ length: requests }, () => send(attempt, () => noProgress).catch(() => undefined))
  await Promise.all([...all, time.runTo(100_000)])
  return attempts
}

test('a fleet that has no room gets a fifth more by retries, and not three times as much', async () => {
  const few = await attemptsOf(100, 1, unavailable)
  expect(few).toBeGreaterThan(100)
  expect(few).toBeLessThanOrEqual(120)
})

test('a server that only one request meets is tried as often as the table says', async () => {
  expect(await attemptsOf(1, 1, unavailable)).toBe(4)
})

test('connections that fail cost the servers nothing, and no budget', async () => {
  const refused = () => new UpstreamError({ type: 'connection', isRefused: true }, 'refused')
  expect(await attemptsOf(50, 2, refused)).toBeGreaterThan(100)
})

test('with one of two servers failing all requests, no client sees a failure', async () => {
  const { time, send } = virtualFleet('vllm', 2, { budget: new RetryBudget() })
  const ends: string[] = []
  const attempt = async (id: string) => {
    await time.sleep(50)
    if (id === 'r0') throw statusFailed({ status: 500, said: '', retryAfter: undefined, host: 'r' })
  }
  const all = Array.from({ length: 60 }, () =>
    send(attempt, () => noProgress).then(
      () => ends.push('ok'),
      () => ends.push('failed'),
    ),
  )
  await Promise.all([...all, time.runTo(60_000)])
  expect(new Set(ends)).toEqual(new Set(['ok']))
})

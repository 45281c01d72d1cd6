import { expect, test } from 'vitest'
import { planRetry, type RetryQuestion } from './retry.ts'

const question: RetryQuestion = {
  failure: { type: 'connection', isRefused: true },
  attempt: 1,
  isEventSent: false,
  canContinue: false,
  hasAlternative: false,
  nowMs: 1000,
  random: () => 0.5,
}

test.each([
  ...[400, 401, 403, 404, 405, 409, 410, 413, 422, 499, 501, 505, 200, 302].map((status) => ({ status, type: 'give-up' })),
  ...[408, 425, 429, 500, 502, 503, 504, 529].map((status) => ({ status, type: 'retry' })),
])('status $status: $type', ({ status, type }) => {
  expect(planRetry({ ...question, failure: { type: 'status', status } }).type).toBe(type)
})

test.each([
  { attempt: 1, delayMs: 50 },
  { attempt: 2, delayMs: 100 },
  { attempt: 3, delayMs: 200 },
])('after attempt $attempt the jitter is spread over twice the time', ({ attempt, delayMs }) => {
  expect(planRetry({ ...question, attempt })).toEqual({ type: 'retry', delayMs })
  expect(planRetry({ ...question, attempt, random: () => 0 })).toEqual({ type: 'retry', delayMs: 0 })
})

test('the fourth attempt is the last', () => {
  expect(planRetry({ ...question, attempt: 4 })).toEqual({ type: 'give-up' })
})

test.each<{ name: string; change: Partial<RetryQuestion>; decision: object }>([
  { name: 'a cut before the first event is tried again', change: {}, decision: { type: 'retry', delayMs: 50 } },
  {
    name: 'after the first event it is never sent again',
    change: { isEventSent: true },
    decision: { type: 'give-up' },
  },
  {
    name: 'but continued where that can be done',
    change: { isEventSent: true, canContinue: true },
    decision: { type: 'continue', delayMs: 50 },
  },
  {
    name: 'at once, when another server can do it',
    change: { isEventSent: true, canContinue: true, hasAlternative: true },
    decision: { type: 'continue', delayMs: 0 },
  },
  {
    name: 'and not for ever',
    change: { isEventSent: true, canContinue: true, attempt: 4 },
    decision: { type: 'give-up' },
  },
  {
    name: 'a continuation that is refused is not sent again',
    change: { isEventSent: true, canContinue: true, failure: { type: 'status', status: 400 } },
    decision: { type: 'give-up' },
  },
])('$name', ({ change, decision }) => {
  expect(planRetry({ ...question, failure: { type: 'truncated' }, ...change })).toEqual(decision)
})

test.each([
  { name: 'is waited for', change: {}, decision: { type: 'retry', delayMs: 2050 } },
  { name: 'is waited for when it fits the deadline', change: { deadlineMs: 3051 }, decision: { type: 'retry', delayMs: 2050 } },
  { name: 'ends it when it does not', change: { deadlineMs: 3050 }, decision: { type: 'give-up' } },
  { name: 'does not bind another server', change: { hasAlternative: true }, decision: { type: 'retry', delayMs: 50 } },
])('Retry-After $name', ({ change, decision }) => {
  const failure = { type: 'status', status: 429, retryAfterMs: 2000 } as const
  expect(planRetry({ ...question, failure, ...change })).toEqual(decision)
})

test('a deadline that is over ends it', () => {
  expect(planRetry({ ...question, deadlineMs: 1000, random: () => 0 })).toEqual({ type: 'give-up' })
})

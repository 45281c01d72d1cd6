import { expect, test } from 'vitest'
import { outcomeOf } from './line-outcome.ts'

const outcome = (status: number, attempts: number, known: Parameters<typeof outcomeOf>[2]) =>
  outcomeOf({ status, requestId: '', body: '{}' }, attempts, known)

test('a server that is away for hours fails no line that finds it so', () => {
  expect(outcome(503, 2, 'maybe')).toMatchObject({ type: 'again', attempts: 2 })
  expect(outcome(529, 2, 'maybe')).toMatchObject({ type: 'again', attempts: 2 })
})

test('a gateway without a server fails only a line that may be the cause', () => {
  expect(outcome(502, 2, 'likely')).toMatchObject({ type: 'again', attempts: 2 })
  expect(outcome(502, 1, 'maybe')).toMatchObject({ type: 'again', attempts: 2 })
  expect(outcome(502, 2, 'maybe')).toMatchObject({ type: 'ended', result: { ending: 'errored' } })
  expect(outcome(500, 2, 'likely')).toMatchObject({ type: 'ended' })
})

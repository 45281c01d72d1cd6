import { expect, test } from 'vitest'
import { CheckLatency } from './check-latency.ts'

test.each([
  ['before any answer, it is as long as a check may take', [], 2500],
  ['it is three times the slowest of the last answers', [2, 400, 3], 1200],
  ['answers within milliseconds make it no shorter than three quarters of a second', [2, 3], 750],
  ['servers that answer slowly get all the time that a check may take', [900], 2500],
  ['a slow answer is forgotten after 64 others', [900, ...Array.from({ length: 64 }, () => 1)], 750],
])('a check without an answer is overdue after a time: %s', (_, answers, expected) => {
  const latency = new CheckLatency()
  for (const ms of answers) latency.learn(ms)
  expect(latency.overdueMs).toBe(expected)
})

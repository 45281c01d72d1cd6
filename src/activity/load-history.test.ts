import { expect, test } from 'vitest'
import { LoadHistory, type LoadReading } from './load-history.ts'

const reading: LoadReading = {
  inputTokens: 0,
  outputTokens: 0,
  ended: 0,
  failed: 0,
  running: 1,
  waiting: 2,
  modelBytes: 10,
  processBytes: 20,
  firstTokenMs: [],
}

test('a sample has the rates of its interval, the counts in it, and the median time to the first token', () => {
  const history = new LoadHistory(reading)
  const firstTokenMs = Array.from({ length: 20 }, (_, index) => 20 - index)
  history.note(
    { ...reading, inputTokens: 500, outputTokens: 123, ended: 20, failed: 1, firstTokenMs },
    { atMs: 7, intervalMs: 10_000 },
  )
  history.note({ ...reading, inputTokens: 500, outputTokens: 123, ended: 20, failed: 1 }, { atMs: 8, intervalMs: 10_000 })
  const quiet = { running: 1, waiting: 2, modelBytes: 10, processBytes: 20, ended: 0, failed: 0 }
  expect(history.since(0)).toEqual([
    {
      ...quiet,
      atMs: 7,
      inputTokensPerSecond: 50,
      outputTokensPerSecond: 12.3,
      ended: 20,
      failed: 1,
      firstTokenMs: 10,
      slowFirstTokenMs: 19,
    },
    { ...quiet, atMs: 8, inputTokensPerSecond: 0, outputTokensPerSecond: 0 },
  ])
  expect([history.next, history.since(1).length, history.since(2)]).toEqual([2, 1, []])
})

test('an hour is kept', () => {
  const history = new LoadHistory(reading)
  for (let index = 0; index < 400; index++) history.note(reading, { atMs: index, intervalMs: 10_000 })
  expect([history.since(0).length, history.since(0)[0]?.atMs, history.next]).toEqual([360, 40, 400])
})

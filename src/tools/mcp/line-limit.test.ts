import { expect, test } from 'vitest'
import { limitLines } from './line-limit.ts'

test('the first 100 lines of a minute are passed on, and one that says that there are more', () => {
  const seen: string[] = []
  let nowMs = 5
  const onLine = limitLines(
    (line) => seen.push(line),
    () => nowMs,
  )
  for (let line = 0; line < 5000; line += 1) onLine(`line ${line}`)
  expect(seen).toHaveLength(101)
  expect(seen.slice(-2)).toEqual(['line 99', '(more than 100 lines: the others of this minute are not shown)'])
  nowMs += 60_000
  onLine('the next minute')
  expect(seen.slice(101)).toEqual(['the next minute'])
})

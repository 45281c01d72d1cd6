import { expect, test } from 'vitest'
import { createProgress, formatBytes } from './progress.ts'

test.each([
  [0, undefined, 'm 0 B'],
  [1500, undefined, 'm 1.5 kB'],
  [5, 0, 'm 5 B'],
  [0, 2000, `m [${'-'.repeat(30)}] 0% of 2.0 kB`],
  [1000, 2000, `m [${'#'.repeat(15)}${'-'.repeat(15)}] 50% of 2.0 kB`],
  [1999, 2000, `m [${'#'.repeat(30)}] 99% of 2.0 kB`],
  [2000, 2000, `m [${'#'.repeat(30)}] 100% of 2.0 kB`],
  [3000, 2000, `m [${'#'.repeat(30)}] 100% of 2.0 kB`],
])('%s of %s bytes are shown as a line', (doneBytes, totalBytes, line) => {
  const lines: string[] = []
  createProgress({ write: (text) => lines.push(text) }).update('m', doneBytes, totalBytes)
  expect(lines).toEqual([`${line}\n`])
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [98_400_000, '98.4 MB'],
  [2e9, '2.0 GB'],
  [5e15, '5000.0 TB'],
])('%s bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

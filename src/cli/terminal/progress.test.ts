import { expect, test } from 'vitest'
import { prettyDestination } from '../../app/log/pretty-log.ts'
import { createProgress, formatProgress } from './progress.ts'

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

test('without a terminal a line that says nothing new is written once', () => {
  const lines: string[] = []
  const progress = createProgress({ write: (text) => lines.push(text) }, () => 0)
  for (let look = 0; look < 5; look++) progress.update('trying out m', 2000, 2000)
  progress.update('loading n', 2000, 2000)
  expect(lines).toHaveLength(2)
})

/** What is on the screen of a terminal after these writes: one row per line, wrapped at its width. */
function screenOf(writes: readonly string[], columns: number): string[] {
  const rows: string[] = ['']
  const cleared = '\r\u001B[2K'
  for (const piece of writes
    .join('')
    .replaceAll(cleared, '\r')
    .split(/([\r\n])/)) {
    if (piece === '\n') rows.push('')
    // Clears the row of the cursor, and no other.
    else if (piece === '\r') rows[rows.length - 1] = ''
    else {
      let row = `${rows.pop()}${piece}`
      for (; row.length > columns; row = row.slice(columns)) rows.push(row.slice(0, columns))
      rows.push(row)
    }
  }
  return rows
}

function openTerminal(columns: number) {
  const writes: string[] = []
  const clock = { nowMs: 0 }
  const stream = { write: (text: string) => writes.push(text), isTTY: true, columns }
  return { clock, progress: createProgress(stream, () => clock.nowMs), screen: () => screenOf(writes, columns) }
}

const longName = 'fetching Qwen3-Coder-30B-A3B-Instruct-Q4_K_M'

test.each([20, 40, 60, 80, 120, 200])('a terminal of %i columns shows one line, however long the name is', (columns) => {
  const { clock, progress, screen } = openTerminal(columns)
  for (let step = 0; step <= 100; step += 1) {
    clock.nowMs = step * 200
    progress.update(longName, step * 186e6, 18.6e9)
    expect(screen()).toHaveLength(1)
    expect(screen()[0]?.length).toBeLessThan(columns)
  }
})

test('the line has the speed of the last seconds and the time left', () => {
  const { clock, progress, screen } = openTerminal(80)
  for (const [atMs, doneBytes] of [
    [0, 0],
    [1000, 100e6],
    [2000, 200e6],
    [10_000, 210e6],
    [12_000, 230e6],
    [15_000, 260e6],
  ] as const) {
    clock.nowMs = atMs
    progress.update('m', doneBytes, 1e9)
  }
  expect(screen()).toEqual([`m [${'#'.repeat(8)}${'-'.repeat(22)}] 26% of 1.0 GB, 10.0 MB/s, 1 min left`])
})

test.each([24, 40, 60])('at %i columns the name gives way to the figures', (width) => {
  const line = formatProgress({ label: longName, doneBytes: 1e7, totalBytes: 1e9, bytesPerSecond: 1e6 }, width)
  expect(line.length).toBeLessThanOrEqual(width)
  expect(line).toContain('1% of 1.0 GB')
})

test('lines of the log and notes stand above the bar', () => {
  const { progress, screen } = openTerminal(80)
  progress.update('m', 500, 1000)
  prettyDestination(progress).write(JSON.stringify({ level: 30, time: 0, msg: 'model is ready' }))
  progress.note('a note')
  const rows = screen()
  expect(rows).toHaveLength(3)
  expect(rows[0]).toMatch(/info +model is ready$/)
  expect(rows[1]).toBe('a note')
  expect(rows[2]).toBe(`m [${'#'.repeat(15)}${'-'.repeat(15)}] 50% of 1.0 kB`)
  progress.end()
  progress.note('after it')
  expect(screen().slice(2)).toEqual(['after it', ''])
})

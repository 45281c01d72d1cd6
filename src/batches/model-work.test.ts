import { expect, test } from 'vitest'
import { LineOrder } from './line-order.ts'
import { linesAhead, type ModelWork, needsLines, noteClaim } from './model-work.ts'

const slots = 8

function openWork(): ModelWork {
  const load = () => ({ slots, busy: 0, queued: 0, isSeparate: false })
  const claimed = { atMs: 0, wanted: 0, ended: 0 }
  return {
    name: 'm',
    load,
    order: new LineOrder(),
    running: 0,
    away: undefined,
    claiming: undefined,
    claimed,
    emptied: new Set(),
  }
}

/** The lines that are wanted when `ended` more have ended. */
function claimAt(work: ModelWork, nowMs: number, ended: number): number {
  work.claimed = { ...work.claimed, ended: work.claimed.ended + ended }
  const wanted = linesAhead(work.claimed, nowMs, slots)
  noteClaim(work, wanted, nowMs)
  return wanted
}

test('a process has the lines of a quarter of a second ahead, and does not forget its pace in a moment of few results', () => {
  const work = openWork()
  expect(claimAt(work, 1000, 0)).toBe(32)
  expect(claimAt(work, 1100, 80)).toBe(200)
  expect(claimAt(work, 1110, 0)).toBe(200)
  expect(claimAt(work, 1260, 80)).toBe(154)
  // All slots happened to end within a millisecond.
  expect(claimAt(work, 1261, 8)).toBe(154)
  expect(claimAt(work, 3260, 40)).toBe(32)
})

test('half of them are here when the next ones are claimed, three for each slot of a slow model', () => {
  const work = openWork()
  const add = (count: number) =>
    work.order.add(
      Array.from({ length: count }, (_, line) => ({
        batchId: 'b',
        line,
        customId: `${line}`,
        model: 'm',
        grouping: '',
        body: '{}',
        attempts: 0,
      })),
    )
  noteClaim(work, 32, 0)
  add(23)
  expect(needsLines(work, slots)).toBe(true)
  add(1)
  expect(needsLines(work, slots)).toBe(false)
  noteClaim(work, 200, 10)
  add(75)
  expect(needsLines(work, slots)).toBe(true)
  add(1)
  expect(needsLines(work, slots)).toBe(false)
})

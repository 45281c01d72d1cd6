import { describe, expect, test } from 'vitest'
import { createRandom } from '../../test/support/random.ts'
import type { ClaimedLine } from '../contract/server/batches.ts'
import { groupingOf } from './grouping.ts'
import { LineOrder } from './line-order.ts'

const root = (name: string) => name.padEnd(16, '.')
const lineOf = (line: number, grouping: string): ClaimedLine => ({
  batchId: 'batch',
  line,
  grouping,
  customId: `${line}`,
  model: 'm',
  body: '{}',
  attempts: 0,
})
/** Lines of these groupings, in turns. */
const linesOf = (groupings: readonly string[], each: number) =>
  Array.from({ length: groupings.length * each }, (_, index) => lineOf(index, groupings[index % groupings.length] ?? ''))
const groupingsOf = (lines: readonly (ClaimedLine | undefined)[]) => lines.map((line) => line?.grouping)

function create(lines: readonly ClaimedLine[]) {
  const order = new LineOrder()
  order.add(lines)
  /** What as many free slots get. */
  const fill = (count: number, nowMs = 0) => {
    const taken = Array.from({ length: count }, () => order.take(nowMs))
    return taken.filter((line) => line !== undefined)
  }
  return { order, fill }
}

describe('the first line with a beginning', () => {
  const [a, b] = [root('a'), root('b')]

  test('runs alone until its prompt is read, while others fill the slots', () => {
    const { order, fill } = create(linesOf([a, b], 5))
    const [first, ...others] = fill(8)
    expect(groupingsOf([first, ...others])).toEqual([a, b])
    if (first !== undefined) order.read(first, 0)
    expect(groupingsOf(fill(6))).toEqual([a, a, a, a])
  })

  test('of a document is read while other documents with its instructions wait for those', () => {
    const documents = [`${a}1`, `${a}2`]
    const { order, fill } = create(linesOf(documents, 5))
    const [first] = fill(8)
    if (first !== undefined) order.read(first, 0)
    const [second, ...others] = fill(4)
    expect([second?.grouping, ...groupingsOf(others)]).toEqual([documents[1], documents[0], documents[0], documents[0]])
  })

  test('holds the others no longer when it fails, or shows no sign for two minutes', () => {
    const { order, fill } = create(linesOf([a], 9))
    const [first] = fill(8)
    if (first !== undefined) order.ended(first, 0)
    expect(fill(8, 1000)).toHaveLength(1)
    expect(fill(7, 120_000)).toHaveLength(0)
    expect(fill(7, 121_000)).toHaveLength(7)
  })

  test('holds no lines that share nothing, as those without instructions', () => {
    const asking = (content: string) => groupingOf({ messages: [{ role: 'user', content }] })
    const told = (content: string) => groupingOf({ system: 'Be brief.', messages: [{ role: 'user', content }] })
    expect(create(['Who?', 'Where?', 'When?'].map((question, index) => lineOf(index, asking(question)))).fill(8)).toHaveLength(3)
    expect(create(['Who?', 'Where?', 'When?'].map((question, index) => lineOf(index, told(question)))).fill(8)).toHaveLength(1)
  })
})

test('a line is sent ahead only where it suits each slot that may become free', () => {
  const [a, b] = [root('a'), root('b')]
  const { order, fill } = create([...linesOf([a, b], 2), lineOf(9, a)])
  for (const line of fill(2)) order.read(line, 0)
  expect(order.take(0, { isAhead: true })).toBeUndefined()
  const [next] = order.remove(({ grouping }) => grouping === b)
  expect(next?.grouping).toBe(b)
  expect(order.take(0, { isAhead: true })?.grouping).toBe(a)
})

type Load = { groupings: number; each: number; slots: number; copies: boolean; readMs?: number }

/** How often a beginning is read by slots that keep that of their last line, and what it takes; lines end in random order. */
function readBySlots({ groupings, each, slots, copies, readMs = 1 }: Load) {
  const random = createRandom(7)
  const names = Array.from({ length: groupings }, (_, index) => root(`${index}`))
  const { order } = create(linesOf(names, each))
  if (!copies) order.separateSlots = slots
  const kept: (string | undefined)[] = Array.from({ length: slots })
  const running = new Map<number, { line: ClaimedLine; readAt: number; endAt: number }>()
  const usedAt = kept.map(() => 0)
  let [reads, now, done] = [0, 0, 0]
  for (; done < groupings * each; now += 1) {
    for (let slot = freeSlot(); slot !== undefined; slot = freeSlot()) {
      const line = order.take(now)
      if (line === undefined) break
      const best = kept.findIndex((grouping, index) => grouping === line.grouping && !running.has(index))
      const isRead = best < 0 && !(copies && kept.includes(line.grouping))
      if (isRead) reads += 1
      const at = best >= 0 ? best : slot
      if (best < 0) kept[at] = undefined
      const readAt = now + (isRead ? readMs : 0)
      running.set(at, { line, readAt, endAt: readAt + 1 + Math.floor(random() * 5) })
    }
    for (const [slot, { line, readAt, endAt }] of running) {
      if (now + 1 >= readAt) {
        order.read(line, now + 1)
        kept[slot] = line.grouping
      }
      if (now + 1 < endAt) continue
      order.ended(line, now + 1)
      usedAt[slot] = now + 1
      running.delete(slot)
      done += 1
    }
  }
  return { reads, ms: now }

  /** The one that was used the longest ago. */
  function freeSlot() {
    const free = kept.map((_, index) => index).filter((index) => !running.has(index))
    return free.sort((one, other) => (usedAt[one] ?? 0) - (usedAt[other] ?? 0))[0]
  }
}

test.each([
  { groupings: 4, each: 50, slots: 8, copies: true, most: 4 },
  { groupings: 10, each: 100, slots: 8, copies: true, most: 10 },
  // Reading takes as long as some twenty lines.
  { groupings: 8, each: 50, slots: 8, copies: false, readMs: 60, most: 8 },
  { groupings: 4, each: 50, slots: 8, copies: false, readMs: 60, most: 4 },
  { groupings: 1, each: 20, slots: 8, copies: false, readMs: 60, most: 1 },
  { groupings: 10, each: 40, slots: 8, copies: false, readMs: 60, most: 10 },
  { groupings: 100, each: 5, slots: 8, copies: false, readMs: 60, most: 100 },
])(
  '$groupings beginnings of $each lines are read at most $most times by $slots slots of an engine whose slots copy: $copies',
  ({ most, ...given }) => {
    expect(readBySlots(given).reads).toBeLessThanOrEqual(most)
  },
)

test.each([{ readMs: 1 }, { readMs: 10 }])(
  'all slots are used where that takes less time, though each reads the beginning for $readMs ms',
  (cost) => {
    const load = { groupings: 1, each: 1500, slots: 8, copies: false, ...cost }
    const { reads, ms } = readBySlots(load)
    expect(reads).toBe(8)
    expect(ms).toBeLessThan(1.1 * (readBySlots({ ...load, copies: true }).ms + cost.readMs))
  },
)

test('no line waits for ever, whatever the others do', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = createRandom(seed)
    const names = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => root(`${index}`).slice(0, 16) + (index % 2))
    const { order } = create(linesOf(names, 6))
    if (seed % 2 === 0) order.separateSlots = 4
    const running: ClaimedLine[] = []
    for (let step = 0; order.waiting > 0; step += 1) {
      expect(step).toBeLessThan(1000)
      const isAhead = running.length === 3
      const line = running.length <= 3 ? order.take(step * 1000, { isAhead }) : undefined
      if (line !== undefined) running.push(line)
      const at = Math.floor(random() * running.length)
      const one = running[at]
      if (one === undefined) continue
      if (random() < 0.3) order.read(one, step * 1000)
      // Half of all are silent for long.
      if (random() < 0.2) order.ended(running.splice(at, 1)[0] as ClaimedLine, step * 1000)
    }
  }
})

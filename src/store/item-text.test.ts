import { expect, test } from 'vitest'
import { item, items } from '../../test/support/stored.ts'
import { batchesOf, decodeItems, encodeItems, sizeOf } from './item-text.ts'

/** The work, and how many turns of the event loop others had meanwhile. */
async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let isDone = false
  const count = () => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isDone = true
  return { result, turns }
}

test('items become rows and items again, with their size in bytes', async () => {
  const added = [item({ text: 'ä\u0000\uD800' }), ...items(3)]
  const rows = await encodeItems(added)
  expect(await decodeItems(rows)).toEqual(added)
  expect(sizeOf(rows)).toBe(rows.reduce((sum, { json }) => sum + Buffer.from(json).length, 0))
})

test('others get a turn for each quarter of a megabyte that is written or read', async () => {
  const added = Array.from({ length: 5000 }, () => item({ text: 'x'.repeat(2000) }))
  const written = await countTurns(() => encodeItems(added))
  expect(written.turns).toBeGreaterThan(35)
  expect((await countTurns(() => decodeItems(written.result))).turns).toBeGreaterThan(35)
})

test('few items take no turn', async () => {
  expect((await countTurns(() => encodeItems(items(10)))).turns).toBe(0)
})

test.each([
  ['at most 200 rows', Array.from({ length: 450 }, () => 'x'), [200, 200, 50]],
  ['at most a megabyte', Array.from({ length: 5 }, () => 'x'.repeat(400_000)), [2, 2, 1]],
  ['a larger row alone', ['x', 'x'.repeat(2_000_000), 'x'], [1, 1, 1]],
  ['nothing for nothing', [], []],
])('a statement holds %s', (_name, texts, lengths) => {
  expect([...batchesOf(texts.map((json) => ({ json })))].map((batch) => batch.length)).toEqual(lengths)
})

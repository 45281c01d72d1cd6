import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IndexedHeap } from './indexed-heap.ts'

type Item = { readonly name: number; order: number }

const change = fc.record({ type: fc.constantFrom('put', 'put', 'remove'), name: fc.nat(15), order: fc.nat(1000) })

test('in any sequence of changes, the first is the least, also of those that fit', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
      const items = Array.from({ length: 16 }, (_, name): Item => ({ name, order: 0 }))
      const heap = new IndexedHeap<Item>((a, b) => a.order < b.order)
      const inside = new Set<Item>()
      for (const { type, name, order } of changes) {
        const item = items[name] as Item
        if (type === 'put') {
          item.order = order
          heap.put(item)
          inside.add(item)
        } else {
          heap.remove(item)
          inside.delete(item)
        }
        const least = (of: Item[]) => (of.length === 0 ? undefined : Math.min(...of.map((one) => one.order)))
        expect(heap.size).toBe(inside.size)
        expect(heap.first?.order).toBe(least([...inside]))
        const fits = (one: Item) => one.name % 3 === order % 3
        const found = heap.firstWhere(fits)
        expect(found?.order).toBe(least([...inside].filter(fits)))
        if (found !== undefined) expect(fits(found) && inside.has(found)).toBe(true)
      }
    }),
  )
})

test.each([10, 1000, 100_000])('among %i items, a change takes some comparisons for each doubling of their number', (count) => {
  let comparisons = 0
  const heap = new IndexedHeap<Item>((a, b) => {
    comparisons += 1
    return a.order < b.order
  })
  const items = Array.from({ length: count }, (_, name): Item => ({ name, order: (name * 7919) % count }))
  for (const item of items) heap.put(item)
  comparisons = 0
  for (let step = 0; step < 1000; step++) {
    const item = items[(step * 31) % count] as Item
    item.order = (step * 104_729) % count
    heap.put(item)
    heap.firstWhere(({ name }) => name % 2 === 0)
  }
  expect(comparisons / 1000).toBeLessThan(4 * Math.log2(count) + 10)
})

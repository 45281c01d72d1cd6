import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChurnMap, ChurnSet } from './churn.ts'

describe('a map whose entries come and go', () => {
  test('the map is like a Map, in any order in which entries come and go', () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('set' as const), key: fc.nat(40), value: fc.nat() }),
      fc.record({ type: fc.constant('delete' as const), key: fc.nat(40) }),
      fc.record({ type: fc.constant('clear' as const) }),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat(300)), { maxLength: 60 }), (steps) => {
        const [churn, plain] = [new ChurnMap<number, number>(), new Map<number, number>()]
        for (const [one, passing] of steps) {
          // So many others come and go: the map is made anew.
          for (let key = 1000; key < 1000 + passing; key++) {
            churn.set(key, key)
            churn.delete(key)
          }
          if (one.type === 'set') {
            churn.set(one.key, one.value)
            plain.set(one.key, one.value)
          } else if (one.type === 'delete') expect(churn.delete(one.key)).toBe(plain.delete(one.key))
          else {
            churn.clear()
            plain.clear()
          }
          expect([...churn]).toEqual([...plain])
        }
        expect([...churn.keys()]).toEqual([...plain.keys()])
        expect([...churn.values()]).toEqual([...plain.values()])
        expect(churn.size).toBe(plain.size)
        expect([0, 20, 40].map((key) => [churn.has(key), churn.get(key)])).toEqual(
          [0, 20, 40].map((key) => [plain.has(key), plain.get(key)]),
        )
      }),
    )
  })

  test('as a set has each value once, in the order in which they came', () => {
    const set = new ChurnSet<string>()
    for (const value of ['a', 'b', 'a', 'c']) set.add(value)
    expect([set.delete('b'), set.delete('b'), set.size, [...set]]).toEqual([true, false, 2, ['a', 'c']])
    set.clear()
    expect([...set]).toEqual([])
  })
})

import { describe, expect, test } from 'vitest'
import { chooseNext, Turns } from './turns.ts'

const never = new AbortController().signal

test.each<[string, string[], Record<string, number>, string | undefined]>([
  ['the first, where there is room', ['a', 'b'], {}, 'a'],
  ['the key that has the fewest running', ['a', 'a', 'b'], { a: 1 }, 'b'],
  ['of those with equally many, the one that has waited longest', ['b', 'a'], { a: 1, b: 1 }, 'b'],
  ['nobody, while as many run as may', ['a', 'b'], { a: 1, b: 2 }, undefined],
  ['a key without a running program all the same', ['a', 'b'], { a: 3 }, 'b'],
  ['nobody, while twice as many run', ['c'], { a: 3, b: 3 }, undefined],
  ['nobody, where nobody waits', [], {}, undefined],
])('next is %s', (_, waiting, running, expected) => {
  expect(chooseNext(waiting, { running: new Map(Object.entries(running)), most: 3 })).toBe(expected)
})

describe('turns', () => {
  const start = () => {
    const turns = new Turns(1)
    const begun: string[] = []
    const enter = (key: string, name: string, signal = never) =>
      turns.enter(key, signal).then(
        () => void begun.push(name),
        () => undefined,
      )
    return { turns, begun, enter }
  }

  test('turns go to a key that has none, before the many of another', async () => {
    const { turns, begun, enter } = start()
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => enter(name[0] as string, name))
    await all[3]
    expect(begun).toEqual(['a1', 'b1'])
    turns.leave('b')
    turns.leave('a')
    await all[1]
    turns.leave('a')
    await all[2]
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a3'])
  })

  test('turns are not taken by those who have gone', async () => {
    const { turns, begun, enter } = start()
    const leaving = new AbortController()
    await enter('a', 'a1')
    const gone = enter('a', 'a2', leaving.signal)
    const last = enter('a', 'a3')
    leaving.abort()
    await gone
    await enter('b', 'never', AbortSignal.abort())
    turns.leave('a')
    await last
    expect(begun).toEqual(['a1', 'a3'])
  })
})

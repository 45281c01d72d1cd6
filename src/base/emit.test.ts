import { expect, test } from 'vitest'
import { emitAll, inTurn, WatchedEmit } from './emit.ts'

test('steps run synchronously when none returns a promise', () => {
  const taken: number[] = []
  const pending = inTurn([1, 2, 3], (item) => {
    taken.push(item)
    return undefined
  })
  expect(pending).toBeUndefined()
  expect(taken).toEqual([1, 2, 3])
})

test('each step waits for the one before it', async () => {
  const taken: number[] = []
  const resolvers: (() => void)[] = []
  const waits = [0, 1].map(() => new Promise<void>((resolve) => resolvers.push(resolve)))
  const pending = inTurn([0, 1, 2], (item) => {
    taken.push(item)
    return waits[item]
  })
  expect(taken).toEqual([0])
  resolvers[0]?.()
  await Promise.resolve()
  await Promise.resolve()
  expect(taken).toEqual([0, 1])
  resolvers[1]?.()
  await pending
  expect(taken).toEqual([0, 1, 2])
})

test.each(['throws', 'rejects'])('a step that %s is the last', async (how) => {
  const taken: number[] = []
  const failure = new Error('no more')
  const run = async () =>
    inTurn([1, 2, 3], (item) => {
      taken.push(item)
      if (item < 2) return undefined
      if (how === 'throws') throw failure
      return Promise.reject(failure)
    })
  await expect(run()).rejects.toBe(failure)
  expect(taken).toEqual([1, 2])
})

test('emitAll closes the iterator when emitting fails', async () => {
  let isLeft = false
  async function* count() {
    try {
      for (let number = 1; ; number++) yield number
    } finally {
      isLeft = true
    }
  }
  await expect(emitAll(count(), (number) => (number < 3 ? undefined : Promise.reject(new Error('enough'))))).rejects.toThrow(
    'enough',
  )
  expect(isLeft).toBe(true)
})

test.each(['throws', 'rejects'])('WatchedEmit records a reader that %s', async (how) => {
  const watched = new WatchedEmit<number>((number) => {
    if (number < 2) return undefined
    if (how === 'throws') throw new Error('enough')
    return Promise.reject(new Error('enough'))
  })
  expect(watched.emit(1)).toBeUndefined()
  expect(watched.hasFailed).toBe(false)
  await expect((async () => watched.emit(2))()).rejects.toThrow('enough')
  expect(watched.hasFailed).toBe(true)
})

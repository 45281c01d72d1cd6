import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

const never = new AbortController().signal

/** Work that the test ends, and a list of the work that has begun. */
function createWork() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () => {
    begun.push(name)
    return new Promise<string>((resolve) => {
      ends.set(name, () => resolve(name))
    })
  }
  const end = (name: string) => ends.get(name)?.()
  return { begun, work, end }
}

test('work begins in order, when the earlier work has ended', async () => {
  const turns = new Turns()
  const { begun, work, end } = createWork()
  const taken = ['a', 'b', 'c'].map((name) => turns.take(work(name), never))
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    expect(begun).toHaveLength(index + 1)
    end(name)
    expect(await taken[index]).toBe(name)
  }
})

test('failed work passes the turn on', async () => {
  const turns = new Turns()
  const failing = turns.take(() => Promise.reject(new Error('no')), never)
  const next = turns.take(() => Promise.resolve('next'), never)
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
})

test('work that is aborted while it waits never begins; other work is not affected', async () => {
  const turns = new Turns()
  const { begun, work, end } = createWork()
  const leaving = new AbortController()
  const first = turns.take(work('first'), never)
  const left = turns.take(work('left'), leaving.signal)
  const last = turns.take(work('last'), never)
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  end('first')
  await first
  end('last')
  await last
  expect(begun).toEqual(['first', 'last'])
})

test('a caller that aborts running work is rejected immediately; the next work waits until it ends', async () => {
  const turns = new Turns()
  const { begun, work, end } = createWork()
  const leaving = new AbortController()
  const left = turns.take(work('left'), leaving.signal)
  const next = turns.take(work('next'), never)
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(begun).toEqual(['left'])
  end('left')
  await expect.poll(() => begun).toEqual(['left', 'next'])
  end('next')
  await next
})

test('refused work never begins', async () => {
  const turns = new Turns()
  const { begun, work, end } = createWork()
  const first = turns.take(work('first'), never)
  const refused = turns.take(work('refused'), never)
  turns.refuse(new Error('closed'))
  await expect(refused).rejects.toThrow('closed')
  end('first')
  await first
  expect(begun).toEqual(['first'])
})

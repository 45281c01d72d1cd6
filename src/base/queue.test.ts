import { expect, test } from 'vitest'
import { KeyedQueue, Queue } from './queue.ts'
import { orAborted } from './time-limit.ts'

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
  const queue = new Queue()
  const { begun, work, end } = createWork()
  const taken = ['a', 'b', 'c'].map((name) => queue.run(never, work(name)))
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    expect(begun).toHaveLength(index + 1)
    end(name)
    expect(await taken[index]).toBe(name)
  }
})

test('failed work passes its place on', async () => {
  const queue = new Queue()
  const failing = queue.run(never, () => Promise.reject(new Error('no')))
  const next = queue.run(never, () => Promise.resolve('next'))
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
})

test('work that is aborted while it waits never begins; other work is not affected', async () => {
  const queue = new Queue()
  const { begun, work, end } = createWork()
  const leaving = new AbortController()
  const first = queue.run(never, work('first'))
  const left = queue.run(leaving.signal, work('left'))
  const last = queue.run(never, work('last'))
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  end('first')
  await first
  end('last')
  await last
  expect(begun).toEqual(['first', 'last'])
})

test('work that a caller abandons while it runs keeps its place until it ends', async () => {
  const queue = new Queue()
  const { begun, work, end } = createWork()
  const leaving = new AbortController()
  const left = orAborted(queue.run(leaving.signal, work('left')), leaving.signal)
  const next = queue.run(never, work('next'))
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(begun).toEqual(['left'])
  end('left')
  await expect.poll(() => begun).toEqual(['left', 'next'])
  end('next')
  await next
})

test('refused work never begins', async () => {
  const queue = new Queue()
  const { begun, work, end } = createWork()
  const first = queue.run(never, work('first'))
  const refused = queue.run(never, work('refused'))
  queue.refuse(new Error('closed'))
  await expect(refused).rejects.toThrow('closed')
  end('first')
  await first
  expect(begun).toEqual(['first'])
})

test('as many works run together as the queue is wide', async () => {
  const queue = new Queue(2)
  const { begun, work, end } = createWork()
  const all = ['a', 'b', 'c'].map((name) => queue.run(never, work(name)))
  await expect.poll(() => begun).toEqual(['a', 'b'])
  end('b')
  await expect.poll(() => begun).toEqual(['a', 'b', 'c'])
  expect(queue.isIdle).toBe(false)
  for (const name of ['a', 'c']) end(name)
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c'])
  expect(queue.isIdle).toBe(true)
})

test('works of one key wait for each other, and works of other keys do not', async () => {
  const queues = new KeyedQueue<string>()
  const { begun, work, end } = createWork()
  const all = ['a1', 'a2', 'b1'].map((name) => queues.run(name.charAt(0), never, work(name)))
  await expect.poll(() => begun).toEqual(['a1', 'b1'])
  end('a1')
  await expect.poll(() => begun).toEqual(['a1', 'b1', 'a2'])
  for (const name of ['a2', 'b1']) end(name)
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1'])
})

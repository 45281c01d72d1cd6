import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

const never = new AbortController().signal

/** Work that ends when the test says so, and a list of what has begun. */
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

test('work begins when what came before it has ended, in the order that it came', async () => {
  const turns = new Turns()
  const { begun, work, end } = createWork()
  const taken = ['a', 'b', 'c'].map((name) => turns.take(work(name), never))
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    expect(begun).toHaveLength(index + 1)
    end(name)
    expect(await taken[index]).toBe(name)
  }
})

test('work that fails makes room like any other', async () => {
  const turns = new Turns()
  const failing = turns.take(() => Promise.reject(new Error('no')), never)
  const next = turns.take(() => Promise.resolve('next'), never)
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
})

test('what is given up while it waits never begins; the others do not notice', async () => {
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

test('who gives up while its work goes on hears so at once; the next one waits for the end of the work', async () => {
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

test('what is refused never begins', async () => {
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

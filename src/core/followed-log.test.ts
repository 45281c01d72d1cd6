import { expect, test } from 'vitest'
import { FollowedLog } from './followed-log.ts'

const never = new AbortController().signal
const texts = (options: { maxSize?: number } = {}) => new FollowedLog<string>({ sizeOf: ({ length }) => length, ...options })

async function readAll(log: FollowedLog<string>, from: number): Promise<string> {
  let read = ''
  await log.follow(
    from,
    (item, skip) => {
      read += item.slice(skip)
      return undefined
    },
    never,
  )
  return read
}

test('each position has the rest, whether it was there before or comes later', async () => {
  const log = texts()
  log.add('one ')
  const early = Array.from({ length: 14 }, (_, from) => readAll(log, from))
  log.add('two ')
  log.add('three')
  log.close()
  const whole = 'one two three'
  const wanted = Array.from({ length: 14 }, (_, from) => whole.slice(from))
  expect(await Promise.all(early)).toEqual(wanted)
  expect(await Promise.all(wanted.map((_, from) => readAll(log, from)))).toEqual(wanted)
  expect(log.read(5)).toEqual({ items: ['two ', 'three'], skip: 1 })
})

test('the oldest leave when there is too much, and a reader that lost them ends', async () => {
  const log = texts({ maxSize: 8 })
  log.add('one ')
  let resume: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    resume = resolve
  })
  const seen: string[] = []
  const slow = log.follow(
    0,
    (item) => {
      seen.push(item)
      return held
    },
    never,
  )
  for (const item of ['two ', 'three', ' four']) log.add(item)
  expect([log.start, log.end]).toEqual([13, 18])
  resume()
  await slow
  expect(seen).toEqual(['one '])
})

test('a reader that leaves waits for nothing', async () => {
  const log = texts()
  const left = new AbortController()
  const reading = log.follow(0, () => undefined, left.signal)
  left.abort()
  await reading
  expect(log.isClosed).toBe(false)
})

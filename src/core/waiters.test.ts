import { expect, test } from 'vitest'
import { Waiters } from './waiters.ts'

test('a change ends the waits that began before it, and a later wait needs another change', async () => {
  const waiters = new Waiters()
  const { signal } = new AbortController()
  const ended: string[] = []
  const wait = (name: string) => waiters.wait(signal).then(() => ended.push(name))
  const first = [wait('a'), wait('b')]
  waiters.wake()
  const later = wait('c')
  await Promise.all(first)
  expect(ended).toEqual(['a', 'b'])
  waiters.wake()
  await later
  expect(ended).toEqual(['a', 'b', 'c'])
})

test('an aborted signal ends its own wait only', async () => {
  const waiters = new Waiters()
  const leaving = new AbortController()
  const left = waiters.wait(leaving.signal)
  let stays = true
  const other = waiters.wait(new AbortController().signal).then(() => {
    stays = false
  })
  leaving.abort()
  await left
  expect(stays).toBe(true)
  waiters.wake()
  await other
})

import { expect, test } from 'vitest'
import { Waiters } from './waiters.ts'

test('a release ends the waits that began before it, and a later wait needs another release', async () => {
  const waiters = new Waiters()
  const ended: string[] = []
  const wait = (name: string) => waiters.wait().then(() => ended.push(name))
  const first = [wait('a'), wait('b')]
  waiters.release()
  const later = wait('c')
  await Promise.all(first)
  expect(ended).toEqual(['a', 'b'])
  waiters.release()
  await later
  expect(ended).toEqual(['a', 'b', 'c'])
})

test('with a signal that is aborted already, a wait ends immediately, with its reason', async () => {
  await expect(new Waiters().wait(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
})

test('an aborted signal ends its own wait only, with its reason', async () => {
  const waiters = new Waiters()
  const leaving = new AbortController()
  const left = waiters.wait(leaving.signal)
  let stays = true
  const other = waiters.wait(new AbortController().signal).then(() => {
    stays = false
  })
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(stays).toBe(true)
  waiters.release()
  await other
})

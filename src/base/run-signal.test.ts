import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { linkedSignal } from './linked-signal.ts'
import { RunSignal } from './run-signal.ts'

const reason = new Error('enough')

test('the first abort counts', () => {
  const signal = new RunSignal()
  const seen: unknown[] = []
  signal.addEventListener('abort', () => seen.push(signal.reason))
  signal.onabort = () => seen.push('property')
  signal.throwIfAborted()
  signal.abort(reason)
  signal.abort(new Error('again'))
  expect(signal).toMatchObject({ aborted: true, reason })
  expect(() => signal.throwIfAborted()).toThrow(reason)
  expect(seen).toEqual(['property', reason])
})

test('a listener for once is called once, and one that was removed never', () => {
  const signal = new RunSignal()
  const calls: string[] = []
  const removed = () => calls.push('removed')
  signal.addEventListener('abort', () => calls.push('once'), { once: true })
  signal.addEventListener('abort', removed)
  signal.removeEventListener('abort', removed)
  signal.abort(reason)
  signal.dispatchEvent(new Event('abort'))
  expect(calls).toEqual(['once'])
})

test('the timers and events of Node take it', async () => {
  const signal = new RunSignal()
  const works = [sleep(60_000, undefined, { signal }), once(new EventTarget(), 'never', { signal })]
  signal.abort(reason)
  const ends = await Promise.allSettled(works)
  expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected'])
})

test('a linked signal follows it', () => {
  const signal = new RunSignal()
  const linked = linkedSignal(signal)
  signal.abort(reason)
  expect(linked.signal).toMatchObject({ aborted: true, reason })
})

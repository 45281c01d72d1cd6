import { expect, test } from 'vitest'
import { allText, encodeStream, nothing, withoutCalls } from './encode-stream.ts'

const handlers = {
  ...allText(({ type, delta }) => `${type} ${delta};`),
  ...withoutCalls,
  start: nothing,
  finish: nothing,
  usage: nothing,
  error: nothing,
}

test('an encoder writes what the handler of an event returns, and nothing without a handler', () => {
  const { encode } = encodeStream({ ...handlers, 'text-start': ({ choice }) => `start of ${choice};` })
  expect(encode({ type: 'text-start', choice: 2 })).toBe('start of 2;')
  expect(encode({ type: 'reasoning-delta', choice: 0, delta: 'why' })).toBe('reasoning-delta why;')
  expect(encode({ type: 'tool-call-delta', choice: 0, id: 'a', delta: '{}' })).toBe('')
  expect(encode({ type: 'text-end', choice: 0 })).toBe('')
})

test('events without a handler go to the common one; events whose handler returns nothing do not', () => {
  const { encode } = encodeStream(handlers, ({ type }) => `no ${type};`)
  expect(encode({ type: 'text-end', choice: 0 })).toBe('no text-end;')
  expect(encode({ type: 'start', model: 'm', warnings: [] })).toBe('')
})

test('the compiler names the event that an encoder forgets', () => {
  const { finish: _, ...others } = handlers
  // @ts-expect-error Property 'finish' is missing
  expect(encodeStream(others).encode({ type: 'finish', choice: 0, reason: 'stop' })).toBe('')
})

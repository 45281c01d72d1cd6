import { expect, test } from 'vitest'
import { WholeCalls } from './whole-calls.ts'

const token = (text: string) => ({ id: 1, text, bytes: [], logprob: 0, top: [] })
const start = { type: 'tool-call-start', choice: 0, id: 'call_1', name: 'read' } as const
const delta = { type: 'tool-call-delta', choice: 0, id: 'call_1' } as const

test('a call has the text and the tokens of its pieces, and is taken once', () => {
  const calls = new WholeCalls()
  calls.begin({ ...start, tokens: [token('<')] })
  calls.add({ ...delta, delta: '{"a":', tokens: [token('{'), token('a')] })
  calls.add({ ...delta, delta: '1}' })
  expect(calls.take()).toEqual({ id: 'call_1', name: 'read', input: '{"a":1}', tokens: ['<', '{', 'a'].map(token) })
  expect(calls.take()).toBeUndefined()
})

test('a piece without a call is dropped', () => {
  const calls = new WholeCalls()
  calls.add({ ...delta, delta: 'late' })
  expect(calls.take()).toBeUndefined()
})

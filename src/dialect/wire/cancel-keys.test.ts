import { describe, expect, test } from 'vitest'
import { readCancelKeys, readCancelTarget } from './cancel-keys.ts'

const tooLong = 'x'.repeat(257)

describe('the keys of a request', () => {
  test.each([
    [{}, undefined, {}],
    [{}, { cancel_id: 'c', session_id: 's' }, { cancelId: 'c', sessionId: 's' }],
    [{ 'x-dragoman-cancel-id': 'c', 'x-dragoman-session-id': 's' }, undefined, { cancelId: 'c', sessionId: 's' }],
    [{ 'x-dragoman-cancel-id': 'c' }, { cancel_id: 'c' }, { cancelId: 'c' }],
    [{ 'x-dragoman-cancel-id': '' }, { cancel_id: '', session_id: null }, {}],
    [{ 'x-claude-code-session-id': 'claude' }, {}, { sessionId: 'claude' }],
    [{ 'session-id': 'codex' }, {}, { sessionId: 'codex' }],
    [{ session_id: 'codex' }, {}, { sessionId: 'codex' }],
    [{}, { thread_id: 't' }, { sessionId: 't' }],
    [{}, { thread_id: 't', session_id: 's' }, { sessionId: 's' }],
    [{ 'x-claude-code-session-id': 'claude' }, { session_id: 's' }, { sessionId: 's' }],
    [{ 'x-claude-code-session-id': tooLong }, {}, {}],
    [{}, 'text', {}],
    [{}, { cancel_id: 5, session_id: tooLong }, {}],
  ])('of the headers %j and the body %j are %j', (headers, body, keys) => {
    expect(readCancelKeys({ headers, body })).toEqual(keys)
  })

  test.each([
    [{ 'x-dragoman-cancel-id': 'c' }, { cancel_id: 'd' }, 'cancel_id'],
    [{ 'x-dragoman-session-id': 's' }, { session_id: 't' }, 'session_id'],
    [{ 'x-dragoman-cancel-id': tooLong }, {}, 'x-dragoman-cancel-id'],
  ])('of the headers %j and the body %j are refused by name', (headers, body, param) => {
    expect(() => readCancelKeys({ headers, body })).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })
})

test.each([
  [undefined, { replyIds: [] }],
  [[{ cancel_id: 'c' }], { replyIds: [] }],
  [{ cancel_id: 5, session_id: '', completion_id: null, message_id: tooLong }, { replyIds: [] }],
  [
    { cancel_id: 'c', thread_id: 's', completion_id: 'x' },
    { cancelId: 'c', sessionId: 's', replyIds: ['x'] },
  ],
  [{ completion_id: 'x', message_id: 'y', response_id: 'z' }, { replyIds: ['x', 'y', 'z'] }],
])('C3: a cancel with the body %j means %j', (body, target) => {
  expect(readCancelTarget(body)).toEqual(target)
})

import { expect, test } from 'vitest'
import type { Message } from '../../contract/request.ts'
import { tellLooseTurns } from './tell-turns.ts'

const user: Message = { role: 'user', content: [{ type: 'text', text: 'q' }] }
const calls: Message = {
  role: 'assistant',
  content: [],
  toolCalls: [
    { id: 'a', name: 'f', arguments: '{}' },
    { id: 'b', name: 'f', arguments: '{}' },
  ],
}
const result = (toolCallId: string): Message => ({ role: 'tool', toolCallId, name: 'f', content: [{ type: 'text', text: 'r' }] })

test.each([
  ['by the id that its call was told with', { userAfterCall: false }, { tool_call_id: 'b' }],
  ['by its name where the template shows the call', { userAfterCall: true }, { name: 'f' }],
])('a result that is told is known %s', (_, traits, known) => {
  const told = tellLooseTurns([user, calls, user, result('b')], { ...traits, strayResults: false }, undefined)
  expect(told.at(-1)).toEqual({
    role: 'user',
    content: [{ type: 'text', text: JSON.stringify({ tool_result: { ...known, content: 'r' } }) }],
  })
})

import { expect, test } from 'vitest'
import { call, image } from '../../../test/support/parts.ts'
import { asForeign } from '../../jinja/values/foreign-text.ts'
import type { TemplateTurn } from './turn.ts'
import { writeUnsupportedTurns } from './write-turns.ts'

const user: TemplateTurn = { role: 'user', content: [{ type: 'text', text: 'q' }] }
const calls: TemplateTurn = {
  role: 'assistant',
  content: [],
  toolCalls: [call('a', 'f', '{}'), call('b', 'f', '{}')],
}
const result = (toolCallId: string): TemplateTurn => ({
  role: 'tool',
  toolCallId,
  name: 'f',
  content: [{ type: 'text', text: 'r' }],
})

test.each([
  ['by the id that its call was written with', { userAfterCall: false }, { tool_call_id: 'b', name: 'f' }],
  ['by its name where the template shows the call', { userAfterCall: true }, { name: 'f' }],
])('a written result names its call %s', (_, traits, known) => {
  const written = writeUnsupportedTurns([user, calls, user, result('b')], { ...traits, strayResults: false }, undefined)
  expect(written.at(-1)).toEqual({
    role: 'user',
    content: [{ type: 'text', text: asForeign(JSON.stringify({ tool_result: { ...known, content: 'r' } })) }],
  })
})

test('the pictures of a written result stay', () => {
  const picture = image('AA==')
  const seen: TemplateTurn = { role: 'tool', toolCallId: 'b', content: [{ type: 'text', text: 'r' }, picture] }
  const written = writeUnsupportedTurns([user, seen], { userAfterCall: true, strayResults: false }, undefined)
  expect(written.at(-1)?.content.at(-1)).toBe(picture)
})

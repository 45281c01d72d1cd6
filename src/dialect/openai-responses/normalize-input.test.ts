import { expect, test } from 'vitest'
import { normalizeInput } from './normalize-input.ts'

test('a field of an item stays a field, whatever its name', () => {
  const item = JSON.parse('{"type": "odd", "__proto__": {"status": "done"}}')
  const [stored] = normalizeInput([item])
  expect(JSON.parse(JSON.stringify(stored?.json))).toEqual({ ...item, id: stored?.id })
  expect(stored?.json).not.toHaveProperty('status')
})

test('an item gets an id where it has none, and what its type has in each reply', () => {
  const [message, call, text] = normalizeInput([
    { role: 'user', content: 'hi' },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look', arguments: '{}', status: 'incomplete' },
    { type: 'message', role: 'assistant', id: 7, content: 'yes' },
  ] as Parameters<typeof normalizeInput>[0])
  const id = expect.stringMatching(/^msg_/)
  const content = [{ type: 'input_text', text: 'hi' }]
  expect(message?.json).toEqual({ type: 'message', id, role: 'user', status: 'completed', content })
  expect(call?.json).toMatchObject({ id: 'fc_1', status: 'incomplete' })
  expect(text?.json).toMatchObject({ id, content: [{ type: 'output_text', text: 'yes', annotations: [] }] })
})

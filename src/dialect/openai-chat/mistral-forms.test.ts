import { expect, test } from 'vitest'
import { byUrl, reasoning, text } from '../../../test/support/parts.ts'
import { decodeChat } from './decode.ts'

const decoded = (fields: object) => decodeChat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }, 'x')
const requestOf = (fields: object) => decoded(fields).request
const messagesOf = (...messages: readonly object[]) => {
  const { prompt } = requestOf({ messages })
  return prompt.type === 'chat' ? prompt.messages : []
}

const tools = [{ type: 'function', function: { name: 'f' } }]

test("Mistral's fields mean what OpenAI's do", () => {
  expect(requestOf({ tools, tool_choice: 'any' }).toolChoice).toEqual({ type: 'required' })
  expect(requestOf({ random_seed: 5 }).sampling.seed).toBe(5)
  expect(() => requestOf({ random_seed: 5, seed: 6 })).toThrow(expect.objectContaining({ param: 'random_seed' }))
  expect(() => requestOf({ tool_choice: 'any' })).toThrow(expect.objectContaining({ param: 'tool_choice' }))
})

test('a prediction of nothing, which is the default there, is none', () => {
  expect(decoded({ prediction: { type: 'content', content: '' } }).ignored ?? []).toEqual([])
  const said = { prediction: { type: 'content', content: 'a' } }
  expect(() => requestOf(said)).toThrow(expect.objectContaining({ param: 'prediction' }))
})

test('a thought in the content of an answer is its reasoning', () => {
  const thinking = { type: 'thinking', thinking: [text('a'), text('b')], closed: true }
  const [message] = messagesOf({ role: 'assistant', content: [thinking, text('c')] }, { role: 'user', content: 'hi' })
  expect(message).toEqual({ role: 'assistant', parts: [reasoning('ab'), text('c')] })
  const user = { role: 'user', content: [text('hi'), { type: 'thinking', thinking: 'a' }] }
  expect(() => messagesOf(user)).toThrow(expect.objectContaining({ param: 'messages[0].content[1]' }))
})

test('its documents and sounds are read', () => {
  const parts = [
    { type: 'document_url', document_url: 'https://example.com/a.pdf', document_name: 'a.pdf' },
    { type: 'input_audio', input_audio: 'AAAA' },
  ]
  const sound = { type: 'media', kind: 'audio', source: { type: 'base64', base64: 'AAAA' } }
  expect(messagesOf({ role: 'user', content: parts })).toEqual([
    { role: 'user', content: [{ ...byUrl('file', 'https://example.com/a.pdf'), filename: 'a.pdf' }, sound] },
  ])
})

import { expect, test } from 'vitest'
import { decodeMessages } from './decode-messages.ts'
import type { MessageWire } from './schema.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const tool_calls = [{ function: { name: 'find', arguments: { q: 'a' } } }]

const partsOf = (message: Partial<MessageWire>) => {
  const { messages, paths } = decodeMessages([{ role: 'assistant', ...message } as MessageWire], new Map())
  const parts = messages.flatMap((decoded) => (decoded.role === 'assistant' ? decoded.parts : []))
  return { types: parts.map(({ type }) => type), paths: paths[0]?.parts }
}

test.each<[string, Partial<MessageWire>, readonly string[]]>([
  ['a call without text', { tool_calls }, ['tool-call']],
  ['a call with an empty text', { content: '', tool_calls }, ['tool-call']],
  ['a call after a text', { content: 'so', tool_calls }, ['text', 'tool-call']],
  ['a call beside an image', { content: '', images: [png], tool_calls }, ['media', 'tool-call']],
  ['thoughts, and a call', { thinking: 'hm', content: '', tool_calls }, ['reasoning', 'tool-call']],
  ['nothing', { content: '' }, ['text']],
])('a reply of %s has these parts, each with its place', (_, message, types) => {
  const decoded = partsOf(message)
  expect(decoded.types).toEqual(types)
  expect(decoded.paths).toHaveLength(types.length)
})

import { expect, test } from 'vitest'
import { text } from '../../../test/support/parts.ts'
import { plainSealer as sealer } from '../../../test/support/plain-sealer.ts'
import { compileChatTemplate } from '../../model-text/template/chat-template.ts'
import { decodeMessage } from './decode.ts'

const schema = { type: 'object', properties: { url: { type: 'string' } } }
const search = { name: 'ToolSearch', description: 'Finds tools.', input_schema: { type: 'object' } }
const deferred = { name: 'WebFetch', description: 'Fetches.', input_schema: schema, defer_loading: true }
const question = { role: 'user', content: 'fetch it' }
const asked = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'ToolSearch', input: {} }] }
const found = (...names: string[]) => ({
  role: 'user',
  content: [
    { type: 'tool_result', tool_use_id: 't', content: names.map((tool_name) => ({ type: 'tool_reference', tool_name })) },
  ],
})

function decode(messages: object[], tools: object[] = [search, deferred]) {
  const decoded = decodeMessage({ model: 'm', max_tokens: 9, messages, tools }, { id: 'msg_1', sealer })
  const { prompt } = decoded.request
  if (prompt.type !== 'chat') return expect.unreachable('a message is a chat')
  return { ...decoded, prompt }
}

test('a deferred tool that a search has found can be called, and the result describes it', () => {
  const { prompt, ignored } = decode([question, asked, found('WebFetch')])
  expect(prompt.tools).toMatchObject([{ name: 'ToolSearch' }, { name: 'WebFetch', parameters: schema, isDeferred: true }])
  const description = JSON.stringify({ description: 'Fetches.', name: 'WebFetch', parameters: schema })
  expect(prompt.messages.at(-1)).toMatchObject({ role: 'tool', content: [text(`<function>${description}</function>`)] })
  expect(ignored).toEqual([])
})

test('before that it is listed as ignored', () => {
  const { prompt, ignored } = decode([question])
  expect(prompt.tools).toMatchObject([{ name: 'ToolSearch' }])
  expect(ignored).toEqual(['tools[1]'])
})

test('a tool that is not declared is not available', () => {
  const { prompt, ignored } = decode([question, asked, found('Gone')], [search])
  expect(prompt.messages.at(-1)).toMatchObject({ content: [text('The tool Gone is not available.')] })
  expect(ignored).toEqual(['messages[2].content[0].content[0]'])
})

test('the prompt of the turn that finds a tool begins with the prompt of the turn before', () => {
  const template = compileChatTemplate(
    '{{ tools | tojson }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}',
    {},
  )
  const before = template.render(decode([question]).prompt).text
  const after = template.render(decode([question, asked, found('WebFetch')]).prompt).text
  expect(before).toContain('Finds tools.')
  expect(after.startsWith(before)).toBe(true)
  expect(after.slice(before.length)).toContain('Fetches.')
})

import { expect, test } from 'vitest'
import { createConversation } from '../conversation.ts'
import { chatBody } from '../request.ts'
import { asCurl, asJavaScript, asPython } from './code.ts'

const { settings } = createConversation('c', 0, { system: 'Be brief.', sampling: { temperature: 0.5, min_p: 0.1 } })
const path = [
  { id: 'a', role: 'user', text: "What's up?", atMs: 0 },
  {
    id: 'b',
    role: 'assistant',
    text: '',
    atMs: 1,
    calls: [{ id: 't', name: 'time', input: '{}', by: 'caller', result: '12:00' }],
  },
] as const
const body = chatBody(path, settings, { model: 'org/m' })
const target = { base: 'http://h/v1', needsKey: true }

test('a conversation is sent with its system prompt, its sampling, its calls and their results', () => {
  expect(body).toEqual({
    model: 'org/m',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: "What's up?" },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 't', type: 'function', function: { name: 'time', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 't', content: '12:00' },
    ],
    temperature: 0.5,
    min_p: 0.1,
  })
})

test('attached files are parts, before the text', () => {
  const attachments = [
    { kind: 'image', name: 'a.png', type: 'image/png', data: 'data:image/png;base64,QQ==' },
    { kind: 'audio', name: 'a.wav', type: 'audio/x-wav', data: 'data:audio/x-wav;base64,QQ==' },
    { kind: 'text', name: 'a.md', type: 'text/markdown', data: '# A' },
  ] as const
  const { messages } = chatBody([{ id: 'a', role: 'user', text: 'See', atMs: 0, attachments }], settings, { model: 'm' })
  expect(messages[1]).toEqual({
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,QQ==' } },
      { type: 'input_audio', input_audio: { data: 'QQ==', format: 'wav' } },
      { type: 'text', text: 'File a.md:\n\n# A' },
      { type: 'text', text: 'See' },
    ],
  })
})

test('code has no key in it, and a quote does not end the shell line', () => {
  const curl = asCurl(body, target)
  expect(curl).toContain('authorization: Bearer $DRAGOMAN_KEY')
  expect(curl).toContain("What'\\''s up?")
  expect(asJavaScript(body, target)).toContain('apiKey: process.env.DRAGOMAN_KEY')
})

test('the Python SDK gets fields that it does not know as extra_body', () => {
  const python = asPython({ ...body, enable_thinking: true }, { ...target, needsKey: false })
  expect(python).toContain('    temperature=0.5,')
  expect(python).toContain('    extra_body={\n        "min_p": 0.1,\n        "enable_thinking": True,\n    },')
  expect(python).toContain('api_key="none"')
})

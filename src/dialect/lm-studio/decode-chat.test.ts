import { expect, test } from 'vitest'
import { decodeChat } from './decode-chat.ts'

const own = { type: 'ephemeral_mcp', server_label: 'own', server_url: 'https://a.example/mcp' }
const { nameOf, body, ownServers } = decodeChat({
  model: 'm',
  system_prompt: 'Be brief.',
  input: [
    { type: 'message', content: 'What is it?' },
    { type: 'image', data_url: 'data:image/png;base64,AA==' },
  ],
  integrations: ['mcp/one', { type: 'plugin', id: 'mcp/two' }, own],
  reasoning: 'off',
})

test('a chat is a response: its input one turn after the system prompt, its integrations MCP servers that nobody approves', () => {
  const content = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
  ]
  const { type, ...server } = own
  expect(body).toMatchObject({
    input: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content },
    ],
    enable_thinking: false,
    tools: [{ server_label: 'one' }, { server_label: 'two' }, server].map((tool) => ({
      type: 'mcp',
      require_approval: 'never',
      ...tool,
    })),
  })
  expect([type, [...ownServers]]).toEqual(['ephemeral_mcp', ['own']])
})

test.each([
  ['input[1].content[1].image_url', 'input[1].data_url'],
  ['input[1].content[0]', 'input[0]'],
  ['tools[0].server_label', 'integrations[0]'],
  ['tools[1].server_label', 'integrations[1].id'],
  ['tools[2].server_url', 'integrations[2].server_url'],
  ['tools', 'integrations'],
  ['enable_thinking', 'reasoning'],
  ['max_output_tokens', 'max_output_tokens'],
])('the field %s of a response is %s here', (field, name) => {
  expect(nameOf(field)).toBe(name)
})

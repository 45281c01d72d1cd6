import { expect, test } from 'vitest'
import { createConversation } from './conversation.ts'
import { serverToolFields } from './request.ts'

test('tools of the server are asked for by their names, in place of the client’s', () => {
  const { settings } = createConversation('c', 0, {
    tools: '[{"type":"function","function":{"name":"f"}}]',
    serverTools: { names: ['web_search', 'docs'], asks: true },
  })
  expect(serverToolFields(settings, 'c')).toEqual({
    tools: undefined,
    enable_tools: true,
    enabled_tools: ['web_search', 'docs'],
    permission_mode: 'ask',
    session_id: 'c',
  })
})

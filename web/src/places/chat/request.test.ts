import { expect, test } from 'vitest'
import { createConversation } from './conversation.ts'
import { serverToolFields, serverToolsOf } from './request.ts'

test('tools of the server are asked for by their names, in place of the client’s', () => {
  const { settings } = createConversation('c', 0, {
    tools: '[{"type":"function","function":{"name":"f"}}]',
    serverTools: { web: true, terminal: true, python: false, mcp: 'docs, , git ', asks: true },
  })
  expect(serverToolFields(settings, 'c')).toEqual({
    tools: undefined,
    enable_tools: true,
    enabled_tools: ['web_search', 'terminal', 'docs', 'git'],
    permission_mode: 'ask',
    session_id: 'c',
  })
})

test('without any, there are none', () => {
  for (const serverTools of [{}, { asks: true, mcp: ' , ' }])
    expect(serverToolsOf(createConversation('c', 0, { serverTools }).settings)).toEqual([])
})

import { expect, test } from 'vitest'
import { AnswerFold } from './answer-fold.ts'
import { createConversation, type Message } from './conversation.ts'
import { ResponseReader, responsesBody, usesServerTools } from './responses-fold.ts'

const { settings } = createConversation('c', 0, {
  system: 'Be brief.',
  sampling: { temperature: 0, max_tokens: 9 },
  tools: '[{"type":"function","function":{"name":"f","parameters":{}}}]',
  serverTools: { web: true, mcp: 'docs, ' },
})

test('tools of the server are asked for by their names in Responses', () => {
  expect([usesServerTools(settings), usesServerTools({ ...settings, serverTools: { mcp: ' ' } })]).toEqual([true, false])
  const path = [{ id: 'a', role: 'user', text: 'Hi', atMs: 0 }] as const
  expect(responsesBody(path, settings, 'm')).toMatchObject({
    instructions: 'Be brief.',
    max_output_tokens: 9,
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }, { type: 'mcp', server_label: 'docs' }],
  })
})

test('a call of the server is shown when it begins and when it has ended, before the text', () => {
  const empty: Message = { id: 'a', role: 'assistant', text: '', atMs: 0 }
  const fold = new AnswerFold(empty, 0)
  const reader = new ResponseReader()
  const push = (event: object) => fold.push(reader.read(event as never), 1)
  const search = { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'rain' } }
  push({ type: 'response.output_item.added', item: { ...search, status: 'in_progress' } })
  expect(fold.message('running').calls).toMatchObject([{ id: 'ws_1', name: 'web_search', by: 'server' }])
  expect(fold.message('running').calls?.[0]?.result).toBeUndefined()
  push({ type: 'response.output_item.done', item: { ...search, status: 'completed', output: 'It rains.' } })
  push({ type: 'response.output_text.delta', delta: 'Take an umbrella.' })
  push({
    type: 'response.completed',
    response: { usage: { input_tokens: 5, output_tokens: 4, input_tokens_details: { cached_tokens: 2 } } },
  })
  expect(fold.message('done')).toMatchObject({
    text: 'Take an umbrella.',
    finish: 'stop',
    calls: [{ result: 'It rains.', by: 'server' }],
    facts: { promptTokens: 5, cachedTokens: 2, outputTokens: 4 },
  })
})

test.each([
  [{ type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } }, { finish: 'length' }],
  [{ type: 'response.failed', response: { error: { message: 'no' } } }, { problem: 'no' }],
  [{ type: 'error', message: 'gone' }, { problem: 'gone' }],
  [{ type: 'response.reasoning_text.delta', delta: 'Hm' }, { reasoning: 'Hm' }],
  [
    { type: 'response.output_item.done', item: { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' } },
    { calls: [{ id: 'c', name: 'f', input: '{}', by: 'caller' }] },
  ],
  [
    {
      type: 'response.output_item.done',
      item: { type: 'code_interpreter_call', id: 'p', status: 'failed', code: '1/0', outputs: [{ type: 'logs', logs: 'error' }] },
    },
    { calls: [{ name: 'python', input: '1/0', result: 'error', isError: true }] },
  ],
  [
    {
      type: 'response.output_item.done',
      item: { type: 'mcp_call', id: 'm', status: 'completed', server_label: 'docs', name: 'find', arguments: '{}', output: 'x' },
    },
    { calls: [{ name: 'docs: find', result: 'x' }] },
  ],
])('%j', (event, expected) => {
  const fold = new AnswerFold({ id: 'a', role: 'assistant', text: '', atMs: 0 }, 0)
  fold.push(new ResponseReader().read(event as never), 1)
  expect(fold.message('done')).toMatchObject(expected)
})

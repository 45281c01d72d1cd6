import { describe, expect, test } from 'vitest'
import { assistant, byUrl, call, text } from '../../../test/support/parts.ts'
import type { Message } from '../../contract/request.ts'
import { decode, failureOf, messagesOf } from './__fixtures__/decode.ts'

const hi = { role: 'user', content: 'hi' }
const asked: Message = { role: 'user', content: [text('hi')] }
const png = 'data:image/png;base64,QUJD'

describe('a message of a type that has no schema', () => {
  const said = (words: string) => [{ type: 'input_text', text: words }]

  test.each<[string, object, Message]>([
    ['of an agent to another', { type: 'agent_message', author: '/root', content: said('Do it.') }, user('Do it.')],
    ['of an agent, as a text', { type: 'agent_message', content: 'Do it.' }, user('Do it.')],
    [
      'of an agent, whose text our model wrote and Codex calls encrypted',
      { type: 'agent_message', content: [...said('Task:'), { type: 'encrypted_content', encrypted_content: 'Do it.' }] },
      user('Task:', 'Do it.'),
    ],
    ['of the user', { type: 'a_later_type', role: 'user', content: said('ho') }, user('ho')],
    ['of the assistant', { type: 'a_later_type', role: 'assistant', content: 'ho' }, assistant(text('ho'))],
    [
      'of the developer',
      { type: 'a_later_type', role: 'developer', content: 'ho' },
      { role: 'developer', content: [text('ho')] },
    ],
  ])('%s is a turn of its text', (_, item, message) => {
    const decoded = decode({ input: [hi, item] })
    expect(messagesOf({ input: [hi, item] })).toEqual([asked, message])
    expect(decoded.ignored).toEqual([])
  })

  test('keeps what can be read of it, and the rest is listed', () => {
    const content = [{ type: 'hologram' }, { type: 'encrypted_content', encrypted_content: 'gAAAAABoX' }, ...said('ho')]
    const input = [hi, { type: 'agent_message', content }]
    expect(messagesOf({ input })).toEqual([asked, user('ho')])
    expect(decode({ input }).ignored).toEqual(['input[1].content[0]', 'input[1].content[1]'])
  })

  test('of an agent goes with the oldest turns like a message of the user', () => {
    const task = { type: 'agent_message', content: 'Do it.' }
    const left = decode({ input: [task, { role: 'assistant', content: 'ho' }, hi] }).withoutOldest(1)
    expect(left?.dropped).toEqual(['input[0]'])
  })
})

describe('a call of a tool that OpenAI defines, and its result', () => {
  test.each<[object, object, ReturnType<typeof call>, Message]>([
    [
      { type: 'local_shell_call', call_id: 'c1', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell_call_output', call_id: 'c1', output: '{"output":"a"}' },
      call('c1', 'local_shell', '{"action":{"type":"exec","command":["ls"],"env":{}}}'),
      result('{"output":"a"}'),
    ],
    [
      { type: 'local_shell_call', id: 'c1', call_id: null, action: { type: 'exec', command: ['ls'] } },
      { type: 'function_call_output', call_id: 'c1', output: 'a' },
      call('c1', 'local_shell', '{"action":{"type":"exec","command":["ls"]}}'),
      result('a'),
    ],
    [
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'c1', action: { type: 'exec', command: ['ls'] } },
      { type: 'local_shell_call_output', id: 'c1', output: 'a' },
      call('c1', 'local_shell', '{"action":{"type":"exec","command":["ls"]}}'),
      result('a'),
    ],
    [
      { type: 'shell_call', call_id: 'c1', action: { commands: ['ls'] }, status: 'completed' },
      {
        type: 'shell_call_output',
        call_id: 'c1',
        output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
      call('c1', 'shell', '{"action":{"commands":["ls"]}}'),
      result('[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]'),
    ],
    [
      { type: 'apply_patch_call', call_id: 'c1', operation: { type: 'delete_file', path: 'a' }, status: 'completed' },
      { type: 'apply_patch_call_output', call_id: 'c1', status: 'failed', output: null },
      call('c1', 'apply_patch', '{"operation":{"type":"delete_file","path":"a"}}'),
      result('failed'),
    ],
    [
      { type: 'computer_call', id: 'cu_1', call_id: 'c1', action: { type: 'screenshot' } },
      { type: 'computer_call_output', call_id: 'c1', output: { type: 'computer_screenshot', image_url: png } },
      call('c1', 'computer', '{"action":{"type":"screenshot"}}'),
      { role: 'tool', toolCallId: 'c1', content: [byUrl('image', png)] },
    ],
    [
      { type: 'program', call_id: 'c1', code: '1' },
      { type: 'program_output', call_id: 'c1', result: '2', status: 'completed' },
      call('c1', 'program', '{"code":"1"}'),
      result('2'),
    ],
    [
      { type: 'a_later_call', call_id: 'c1', query: 'q' },
      { type: 'a_later_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'a' }] },
      call('c1', 'a_later', '{"query":"q"}'),
      result('a'),
    ],
  ])('%j reaches the model', (made, returned, expected, message) => {
    const decoded = decode({ input: [hi, made, returned] })
    expect(messagesOf({ input: [hi, made, returned] })).toEqual([asked, assistant(expected), message])
    expect(decoded.ignored).toEqual([])
  })

  test('reaches the model as one item where OpenAI ran the search of files and shows what it found', () => {
    const item = { type: 'file_search_call', id: 'fs_1', queries: ['q'], results: [{ filename: 'a', text: 'x' }] }
    const [, turn] = messagesOf({ input: [hi, item] })
    expect(turn).toMatchObject({
      parts: [
        { type: 'tool-call', name: 'file_search', input: '{"queries":["q"]}' },
        { type: 'tool-result', toolCallId: 'fs_1' },
      ],
    })
  })

  test('goes with the oldest turns together with its result', () => {
    const made = { type: 'local_shell_call', call_id: 'c1', action: {} }
    const returned = { type: 'local_shell_call_output', call_id: 'c1', output: 'a' }
    const left = decode({ input: [hi, made, returned, hi] }).withoutOldest(2)
    expect(left?.dropped).toEqual(['input[0]', 'input[1]', 'input[2]'])
  })
})

describe('an item that is too large to work on is refused', () => {
  const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)
  const made = { type: 'a_call', call_id: 'c1' }
  test.each<[string, object, string]>([
    ['a message of many parts', { type: 'agent_message', content: Array(100_000).fill(1) }, 'input[2]'],
    ['a deep call', { type: 'a_call', call_id: 'c2', query: deep }, 'input[2]'],
    ['a deep output', { type: 'a_call_output', call_id: 'c1', output: deep }, 'input[2]'],
    ['deep arguments', { type: 'function_call', call_id: 'c2', name: 'f', arguments: { deep } }, 'input[2].arguments'],
  ])('%s', (_, item, param) => {
    expect(failureOf({ input: [hi, made, item] })).toMatchObject({ code: 'invalid-request', param })
  })
})

function user(...words: readonly string[]): Message {
  return { role: 'user', content: words.map((word) => text(word)) }
}

function result(words: string): Message {
  return { role: 'tool', toolCallId: 'c1', content: [text(words)] }
}

import { expect, test } from 'vitest'
import type { ServerToolCall } from '../../contract/event.ts'
import { ToolFrames } from './tool-frames.ts'

const call = (fields: Partial<ServerToolCall>): ServerToolCall => ({
  id: 'c',
  name: 'web_search',
  kind: 'web-search',
  arguments: {},
  ...fields,
})

const read = (text: string) =>
  text.split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice('data: '.length))]))

test.each<[Partial<ServerToolCall>, string]>([
  [{ arguments: { query: '  a\n b ' } }, 'Searching: a b'],
  [{ arguments: { query: 'x'.repeat(80) } }, `Searching: ${'x'.repeat(60)}…`],
  [{ arguments: { query: 5 } }, 'Searching: '],
  [{ arguments: { url: 'https://example.com/a?b' } }, 'Reading example.com'],
  [{ arguments: { url: 'not a url' } }, 'Reading not a url'],
  [{ name: 'python', kind: 'python', arguments: { code: '1' } }, 'Running Python'],
  [{ name: 'terminal', kind: 'terminal', arguments: { command: 'ls' } }, 'Running: ls'],
  [{ name: 'git__log', kind: 'mcp', mcp: { server: 'git', name: 'log' } }, 'Calling log of git'],
])('%j is announced as %j', (fields, content) => {
  expect(read(new ToolFrames().encode({ type: 'server-tool-start', choice: 0, call: call(fields) }))[0]).toEqual({
    type: 'tool_status',
    content,
  })
})

test('the status ends once, before what comes after the last call', () => {
  const frames = new ToolFrames()
  const text = { type: 'text-delta', choice: 0, delta: 'a' } as const
  expect(frames.encode(text)).toBe('')
  frames.encode({ type: 'server-tool-start', choice: 0, call: call({}) })
  frames.encode({ type: 'server-tool-end', choice: 0, id: 'c', outcome: { text: '', isError: false } })
  expect(read(frames.encode(text))).toEqual([{ type: 'tool_status', content: '' }])
  expect(frames.encode(text)).toBe('')
})

test('a failure is marked', () => {
  const frames = new ToolFrames()
  frames.encode({ type: 'server-tool-start', choice: 0, call: call({}) })
  const outcome = { text: 'no', isError: true }
  expect(read(frames.encode({ type: 'server-tool-end', choice: 0, id: 'c', outcome }))).toEqual([
    { type: 'tool_end', tool_name: 'web_search', tool_call_id: 'c', result: 'no', is_error: true },
  ])
})

test('pictures of a program are named', () => {
  const frames = new ToolFrames()
  frames.encode({ type: 'server-tool-start', choice: 0, call: call({ name: 'python', kind: 'python' }) })
  const outcome = { text: 'done', isError: false, pictures: ['plot.png'] }
  expect(read(frames.encode({ type: 'server-tool-end', choice: 0, id: 'c', outcome }))).toEqual([
    { type: 'tool_end', tool_name: 'python', tool_call_id: 'c', result: 'done', images: ['plot.png'] },
  ])
})

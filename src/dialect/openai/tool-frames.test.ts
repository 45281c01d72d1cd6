import { expect, test } from 'vitest'
import type { ServerToolCall } from '../../contract/event.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
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

/** Frames of calls, event by event. */
function framesOf(of: ServerToolCall = call({})) {
  const frames = new ToolFrames()
  return {
    ask: () => read(frames.encode({ type: 'approval-request', choice: 0, call: of })),
    start: (isMade?: false) =>
      read(frames.encode({ type: 'server-tool-start', choice: 0, call: of, ...(isMade === false && { isMade }) })),
    end: (outcome: ToolOutcome) => read(frames.encode({ type: 'server-tool-end', choice: 0, id: of.id, outcome })),
    say: () => read(frames.encode({ type: 'text-delta', choice: 0, delta: 'a' })),
  }
}
const about = { tool_name: 'web_search', tool_call_id: 'c' }
const cleared = { type: 'tool_status', content: '' }

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
  expect(framesOf(call(fields)).start()[0]).toEqual({ type: 'tool_status', content })
})

test('the status ends with the call', () => {
  const { start, end, say } = framesOf()
  expect(say()).toEqual([])
  start()
  expect(end({ text: 'found', isError: false })).toEqual([{ type: 'tool_end', ...about, result: 'found' }, cleared])
  expect(say()).toEqual([])
})

test('a failure is marked', () => {
  const { start, end } = framesOf()
  start()
  expect(end({ text: 'no', isError: true })[0]).toEqual({ type: 'tool_end', ...about, result: 'no', is_error: true })
})

test('pictures of a program are named at the end of its result, and apart', () => {
  const { start, end } = framesOf(call({ name: 'python', kind: 'python' }))
  start()
  const [ended] = end({ text: 'done', isError: false, pictures: ['plot.png', 'b"c.png'] })
  const names = ['plot.png', 'b"c.png']
  const result = `done\n__IMAGES__:${JSON.stringify(names)}`
  expect(ended).toEqual({ type: 'tool_end', tool_name: 'python', tool_call_id: 'c', result, images: names })
})

test('a call that waits starts once, with the id of its approval', () => {
  const { ask, start, end } = framesOf()
  expect(ask()).toEqual([
    { type: 'tool_status', content: 'Waiting for approval: Searching: ' },
    { type: 'tool_start', ...about, arguments: {}, approval_id: 'c', awaiting_confirmation: true },
    { type: 'tool_confirm', ...about, arguments: {} },
  ])
  expect(start()).toEqual([{ type: 'tool_status', content: 'Searching: ', tool_call_id: 'c' }])
  expect(end({ text: 'found', isError: false })).toEqual([{ type: 'tool_end', ...about, result: 'found' }, cleared])
})

test('a call that is not approved does not start again', () => {
  const { ask, start, end } = framesOf()
  ask()
  expect(start(false)).toEqual([])
  expect(end({ text: 'not approved', isError: true })[0]).toMatchObject({ type: 'tool_end', result: 'not approved' })
})

test('a call that nobody is asked about and that is not made, such as a repeated one, has no frames', () => {
  const { start, end } = framesOf()
  expect([...start(false), ...end({ text: 'made before', isError: true })]).toEqual([])
})

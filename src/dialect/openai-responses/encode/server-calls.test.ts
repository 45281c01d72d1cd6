import { describe, expect, test } from 'vitest'
import type { GenerationEvent, ServerToolCall } from '../../../contract/event.ts'
import type { ToolOutcome } from '../../../contract/server-tool.ts'
import { brief, checked, encoderFor, finished, say, start, stream } from '../__fixtures__/encode.ts'
import { replayResponse } from './encode-replay.ts'

const search: ServerToolCall = { id: 'c1', name: 'web_search', kind: 'web-search', arguments: { query: 'tides' } }
const page: ServerToolCall = { ...search, arguments: { url: 'https://a.example/' } }
const program: ServerToolCall = { id: 'c2', name: 'python', kind: 'python', arguments: { code: 'print(2)' } }
const docs = { server: 'docs', name: 'read' }
const remote: ServerToolCall = { id: 'c3', name: 'docs__read', kind: 'mcp', mcp: docs, arguments: { path: 'a' } }

const found: ToolOutcome = {
  text: 'Tides: twice a day.',
  isError: false,
  sources: [{ url: 'https://a.example/', title: 'A', snippet: 'Tides' }],
}
const printed: ToolOutcome = { text: '2\n', isError: false, exitCode: 0 }
const crashed: ToolOutcome = { text: 'Exit code 1:\nNameError', isError: true, exitCode: 1 }
const read: ToolOutcome = { text: 'Hello.', isError: false }
const failed: ToolOutcome = { text: 'no such file', isError: true }

function ran(call: ServerToolCall, outcome: ToolOutcome): readonly GenerationEvent[] {
  return [
    { type: 'server-tool-start', choice: 0, call },
    { type: 'server-tool-end', choice: 0, id: call.id, outcome },
  ]
}

/** The item of the reply to one call, and the names of its events. */
function itemOf(call: ServerToolCall, outcome: ToolOutcome, fields: object = {}) {
  const events = stream([...ran(call, outcome), say('Done.'), ...finished()], fields)
  const names = brief(events).filter((name) => / 0( |$)/.test(name))
  const { output } = (events.at(-1)?.response ?? {}) as { output?: readonly object[] }
  return { item: output?.[0], names }
}

describe('a call of a tool of the server', () => {
  test('a search has its words, its sources and what the model read', () => {
    const { item, names } = itemOf(search, found)
    expect(item).toMatchObject({
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'tides', queries: ['tides'], sources: [{ type: 'url', url: 'https://a.example/' }] },
      result: 'Tides: twice a day.',
    })
    expect(names).toEqual([
      'output_item.added 0 web_search_call in_progress',
      'web_search_call.in_progress 0',
      'web_search_call.searching 0',
      'web_search_call.completed 0',
      'output_item.done 0 web_search_call completed',
    ])
  })

  test('a page that was read has its address', () => {
    expect(itemOf(page, read).item).toMatchObject({ action: { type: 'open_page', url: 'https://a.example/' }, result: 'Hello.' })
  })

  test('a failed search has no event of its own', () => {
    const { item, names } = itemOf(search, failed)
    expect(item).toMatchObject({ status: 'failed', result: 'no such file' })
    expect(names.slice(-2)).toEqual(['web_search_call.searching 0', 'output_item.done 0 web_search_call failed'])
  })

  test('a program has its code, its container and its output', () => {
    const fields = { tools: [{ type: 'code_interpreter', container: 'cntr_9' }] }
    const { item, names } = itemOf(program, printed, fields)
    expect(item).toMatchObject({
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'print(2)',
      container_id: 'cntr_9',
      outputs: [{ type: 'logs', logs: '2\n' }],
    })
    expect(names).toEqual([
      'output_item.added 0 code_interpreter_call in_progress',
      'code_interpreter_call.in_progress 0',
      'code_interpreter_call_code.delta 0 "print(2)"',
      'code_interpreter_call_code.done 0',
      'code_interpreter_call.interpreting 0',
      'code_interpreter_call.completed 0',
      'output_item.done 0 code_interpreter_call completed',
    ])
  })

  test('pictures of a program have the place where the caller finds them', () => {
    const fields = { tools: [{ type: 'code_interpreter', container: 'cntr_9' }] }
    expect(itemOf(program, { ...printed, pictures: ['a plot.png'] }, fields).item).toMatchObject({
      outputs: [{ type: 'logs' }, { type: 'image', url: '/api/inference/sandbox/cntr_9/a%20plot.png' }],
    })
  })

  test.each([
    ['that ended with an error has run', crashed, 'completed'],
    ['that was not run has failed', failed, 'failed'],
  ])('a program %s', (_, outcome, status) => {
    expect(itemOf(program, outcome).item).toMatchObject({ status, outputs: [{ logs: outcome.text }] })
  })

  test('a tool of an MCP server has its arguments and its output', () => {
    const { item, names } = itemOf(remote, read)
    expect(item).toMatchObject({
      type: 'mcp_call',
      status: 'completed',
      server_label: 'docs',
      name: 'read',
      arguments: '{"path":"a"}',
      output: 'Hello.',
      error: null,
      approval_request_id: null,
    })
    expect(names).toEqual([
      'output_item.added 0 mcp_call in_progress',
      'mcp_call.in_progress 0',
      'mcp_call_arguments.delta 0 "{\\"path\\":\\"a\\"}"',
      'mcp_call_arguments.done 0',
      'mcp_call.completed 0',
      'output_item.done 0 mcp_call completed',
    ])
  })

  test('a failed tool of an MCP server has an error', () => {
    const { item, names } = itemOf(remote, failed)
    const content = [{ type: 'text', text: 'no such file' }]
    expect(item).toMatchObject({ status: 'failed', output: null, error: { type: 'mcp_tool_execution_error', content } })
    expect(names.at(-2)).toBe('mcp_call.failed 0')
  })

  test('that was approved names the request to approve it', () => {
    const request = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'docs', name: 'read', arguments: '{}' }
    const answer = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }
    const tools = [{ type: 'mcp', server_label: 'docs' }]
    expect(itemOf({ ...remote, id: 'mcpr_1' }, read, { input: [request, answer], tools }).item).toMatchObject({
      approval_request_id: 'mcpr_1',
    })
  })

  test.each([
    [search, 'failed'],
    [program, 'incomplete'],
    [remote, 'incomplete'],
  ])('that the end of the response interrupts has no result: $kind', (call, status) => {
    const encoder = encoderFor()
    const begun = [start, { type: 'server-tool-start', choice: 0, call } as const].flatMap((event) => encoder.encode(event))
    expect(brief(checked([...begun, ...encoder.cancelled()])).slice(-2)).toEqual([
      expect.stringContaining(status),
      'incomplete cancelled',
    ])
  })
})

describe('before the first text', () => {
  const listed = [{ name: 'read', description: 'Reads.', parameters: { type: 'object' } }]

  test('an MCP server lists its tools', () => {
    const events = stream([{ type: 'mcp-tools', choice: 0, server: 'docs', tools: listed }, say('Hi'), ...finished()])
    expect(brief(events).slice(2, 6)).toEqual([
      'output_item.added 0 mcp_list_tools',
      'mcp_list_tools.in_progress 0',
      'mcp_list_tools.completed 0',
      'output_item.done 0 mcp_list_tools',
    ])
    expect(events.at(-1)?.response).toMatchObject({
      output: [{ server_label: 'docs', tools: [{ name: 'read', description: 'Reads.', input_schema: { type: 'object' } }] }, {}],
    })
  })

  test('one that does not answer says why', () => {
    const events = stream([{ type: 'mcp-tools', choice: 0, server: 'docs', tools: [], error: 'refused' }, ...finished()])
    expect(brief(events).slice(3, 5)).toEqual(['mcp_list_tools.in_progress 0', 'mcp_list_tools.failed 0'])
    expect(events.at(-1)?.response).toMatchObject({ output: [{ tools: [], error: 'refused' }] })
  })
})

test('a call that waits for approval is an item, and ends the response', () => {
  const events = stream([{ type: 'approval-request', choice: 0, call: remote }, ...finished('tool-calls')])
  expect(brief(events).slice(2)).toEqual([
    'output_item.added 0 mcp_approval_request',
    'output_item.done 0 mcp_approval_request',
    'completed completed',
  ])
  expect(events.at(-1)?.response).toMatchObject({
    output: [{ type: 'mcp_approval_request', server_label: 'docs', name: 'read', arguments: '{"path":"a"}' }],
  })
})

test('a stored response replays as it was', () => {
  const listed: GenerationEvent = { type: 'mcp-tools', choice: 0, server: 'docs', tools: [] }
  const calls = [
    ...ran(search, found),
    ...ran(search, failed),
    ...ran(program, printed),
    ...ran(remote, read),
    ...ran(remote, failed),
  ]
  const original = stream([listed, ...calls, { type: 'approval-request', choice: 0, call: remote }, ...finished()])
  const response = original.at(-1)?.response
  if (typeof response !== 'object' || response === null) throw new Error('the stream has no end')
  const again = checked(replayResponse({ ...response }))
  expect(brief(again)).toEqual(brief(original))
  expect(again.at(-1)).toEqual(original.at(-1))
})

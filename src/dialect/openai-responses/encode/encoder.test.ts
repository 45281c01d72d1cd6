import { describe, expect, test } from 'vitest'
import type { GenerationEvent } from '../../../contract/event.ts'
import { brief, called, finished, refuse, say, stream, think } from '../__fixtures__/encode.ts'

const begin = ['created in_progress', 'in_progress in_progress']
const thought: readonly GenerationEvent[] = [think('Hm.'), { type: 'reasoning-end', choice: 0 }]

/** A message of one text at this index, in one delta. */
function message(index: number, text: string): readonly string[] {
  return [
    `output_item.added ${index} message in_progress`,
    `content_part.added ${index}`,
    `output_text.delta ${index} ${JSON.stringify(text)}`,
    `output_text.done ${index}`,
    `content_part.done ${index}`,
    `output_item.done ${index} message completed`,
  ]
}

function functionCall(index: number, input: string): readonly string[] {
  return [
    `output_item.added ${index} function_call in_progress`,
    `function_call_arguments.delta ${index} ${JSON.stringify(input)}`,
    `function_call_arguments.done ${index}`,
    `output_item.done ${index} function_call completed`,
  ]
}

describe('the events of', () => {
  test('a text', () => {
    expect(brief(stream([say('Hello'), ...finished()]))).toEqual([...begin, ...message(0, 'Hello'), 'completed completed'])
  })

  test('a thought and a text', () => {
    expect(brief(stream([...thought, say('a'), ...finished()]))).toEqual([
      ...begin,
      'output_item.added 0 reasoning in_progress',
      'content_part.added 0',
      'reasoning_text.delta 0 "Hm."',
      'reasoning_text.done 0',
      'content_part.done 0',
      'output_item.done 0 reasoning completed',
      ...message(1, 'a'),
      'completed completed',
    ])
  })

  test('a thought, where the request asks for a summary', () => {
    expect(brief(stream([...thought, ...finished()], { reasoning: { summary: 'auto' } }))).toEqual([
      ...begin,
      'output_item.added 0 reasoning in_progress',
      'reasoning_summary_part.added 0',
      'reasoning_summary_text.delta 0 "Hm."',
      'reasoning_summary_text.done 0',
      'reasoning_summary_part.done 0',
      'output_item.done 0 reasoning completed',
      'completed completed',
    ])
  })

  test('text, two calls, text', () => {
    const calls = [...called('c1', 'f', '{"a":1}'), ...called('c2', 'f', '{}')]
    expect(brief(stream([say('a'), ...calls, say('b'), ...finished('tool-calls')]))).toEqual([
      ...begin,
      ...message(0, 'a'),
      ...functionCall(1, '{"a":1}'),
      ...functionCall(2, '{}'),
      ...message(3, 'b'),
      'completed completed',
    ])
  })

  test('a call only', () => {
    expect(brief(stream([...called('c1', 'f', '{}'), ...finished('tool-calls')]))).toEqual([
      ...begin,
      ...functionCall(0, '{}'),
      'completed completed',
    ])
  })

  test('a call of a custom tool', () => {
    const tools = [{ type: 'custom', name: 'patch' }]
    const events = stream([...called('c1', 'patch', '*** Begin', 'custom'), ...finished('tool-calls')], { tools })
    expect(brief(events)).toEqual([
      ...begin,
      'output_item.added 0 custom_tool_call',
      'custom_tool_call_input.delta 0 "*** Begin"',
      'custom_tool_call_input.done 0',
      'output_item.done 0 custom_tool_call',
      'completed completed',
    ])
    expect(events.at(-2)).toMatchObject({ item: { id: 'ctc_0', call_id: 'c1', name: 'patch', input: '*** Begin' } })
  })

  test('a call of a namespace’s member, which has the client’s names', () => {
    const tools = [{ type: 'namespace', name: 'mcp__docs__', description: '', tools: [{ type: 'function', name: 'search' }] }]
    const events = stream([...called('c1', 'mcp__docs__search', '{}'), ...finished('tool-calls')], { tools })
    expect(brief(events)).toEqual([...begin, ...functionCall(0, '{}'), 'completed completed'])
    const item = { call_id: 'c1', namespace: 'mcp__docs__', name: 'search' }
    expect(events).toMatchObject([{}, {}, { item }, {}, { name: 'search' }, { item }, { response: { output: [item] } }])
  })

  test('a truncated text', () => {
    const events = stream([say('Hel'), ...finished('length')])
    expect(brief(events)).toEqual([
      ...begin,
      ...message(0, 'Hel').slice(0, -1),
      'output_item.done 0 message incomplete',
      'incomplete incomplete',
    ])
    expect(events.at(-1)).toMatchObject({ response: { incomplete_details: { reason: 'max_output_tokens' }, completed_at: null } })
  })

  test('a refusal', () => {
    expect(brief(stream([refuse('No.'), ...finished('stop')]))).toEqual([
      ...begin,
      'output_item.added 0 message in_progress',
      'content_part.added 0',
      'refusal.delta 0 "No."',
      'refusal.done 0',
      'content_part.done 0',
      'output_item.done 0 message completed',
      'completed completed',
    ])
  })

  test('two texts of one message, which are two parts', () => {
    const events = stream([say('a'), { type: 'text-end', choice: 0 }, { type: 'text-start', choice: 0 }, say('b'), ...finished()])
    expect(events.filter(({ type }) => type === 'response.content_part.added')).toMatchObject([
      { output_index: 0, content_index: 0 },
      { output_index: 0, content_index: 1 },
    ])
  })
})

test('two thoughts in a row are two items', () => {
  const events = stream([...thought, { type: 'reasoning-start', choice: 0 }, ...thought, ...finished()])
  expect(events.at(-1)).toMatchObject({ response: { output: [{ type: 'reasoning' }, { type: 'reasoning' }] } })
})

test('an item has the same id and content when it is done and in the response', () => {
  const events = stream([...thought, say('a'), ...called('c1', 'f', '{}'), ...finished('tool-calls')])
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  expect(events.at(-1)).toMatchObject({ response: { output: done } })
  const added = events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item)
  expect(added).toMatchObject([{ id: 'rs_0' }, { id: 'msg_1' }, { id: 'fc_2' }])
  expect(done).toMatchObject([{ id: 'rs_0' }, { id: 'msg_1' }, { id: 'fc_2' }])
})

test('a source of a text is sent, and part of the text, also when it comes after its end', () => {
  const annotation = { type: 'url-citation', url: 'http://a', title: 'A', startIndex: 0, endIndex: 1 } as const
  const events = stream([
    say('x'),
    { type: 'text-end', choice: 0 },
    { type: 'annotation', choice: 0, annotation },
    { type: 'annotation', choice: 0, annotation: { type: 'file-citation', fileId: 'f_1' } },
    ...finished(),
  ])
  const encoded = { type: 'url_citation', url: 'http://a', title: 'A', start_index: 0, end_index: 1 }
  const file = { type: 'file_citation', file_id: 'f_1', filename: '', index: 0 }
  expect(events.filter(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject([
    { annotation: encoded, annotation_index: 0 },
    { annotation: file, annotation_index: 1 },
  ])
  expect(events.at(-2)).toMatchObject({ item: { content: [{ text: 'x', annotations: [encoded, file] }] } })
})

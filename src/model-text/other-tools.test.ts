import { describe, expect, test } from 'vitest'
import { parse } from '../../test/support/parse-output.ts'
import type { OutputParserOptions } from './parse/output-parser.ts'

const formatOf = (toolFormat: string) => ({ toolFormat, startsInReasoning: false })

/** What is read where calls of any name are answered, the same however it is cut. */
function read(raw: string, options: OutputParserOptions = {}) {
  const { text, reasoning, calls } = parse(raw, { otherTools: [], ...options })
  return { text, reasoning, calls: calls.map(({ name, arguments: json }) => `${name} ${json}`) }
}

const onlyText = (text: string) => ({ text, reasoning: '', calls: [] })

describe('where calls of any name are answered', () => {
  test.each([
    ['hermes', '{"name": "open_page", "arguments": {"url": "u"}}'],
    ['llama3', '{"name": "open_page", "parameters": {"url": "u"}}'],
    ['llama3', '<|python_tag|>open_page(url="u")'],
    ['llama3', '[open_page(url="u")]'],
    ['pythonic', '[open_page(url="u"), open_page(url="u")]'],
    ['any', '{"name": "open_page", "arguments": {"url": "u"}}'],
    ['any', 'Well.\n[TOOL_CALLS]open_page[ARGS]{"url": "u"}'],
    ['harmony', '<|channel|>commentary to=functions.open_page <|constrain|>json<|message|>{"url": "u"}<|call|>'],
  ])('an undeclared call of %s is a call, also without a tag: %s', (toolFormat, raw) => {
    const { text, calls } = read(raw, { format: formatOf(toolFormat) })
    expect([text.replace('Well.\n', ''), new Set(calls)]).toEqual(['', new Set(['open_page {"url": "u"}'])])
  })

  test.each([
    ['hermes', '{"name": "Ann", "age": 3}'],
    ['hermes', '{"name": "open_page", "description": "Opens.", "parameters": {"type": "object"}}'],
    ['hermes', 'Write `<tool_call>{"name": "open_page", "arguments": {}}</tool_call>` for a call.'],
    ['hermes', 'So:\n```\n<tool_call>{"name": "open_page", "arguments": {}}</tool_call>\n```'],
    ['hermes', 'The tag <tool_call> begins one.'],
    ['pythonic', '[h(x), h(y)]'],
    ['pythonic', '[see](https://example.com/a_(b))'],
    ['pythonic', '```python\nprint("a")\n```'],
    ['json', 'It is {"name": "Ann", "tags": []}'],
    ['harmony', '<|channel|>final<|message|>to=functions.open_page'],
  ])('what only resembles a call stays text in %s: %s', (toolFormat, raw) => {
    const text = raw.replace('<|channel|>final<|message|>', '')
    expect(read(raw, { format: formatOf(toolFormat) })).toEqual(onlyText(text))
  })

  test('JSON that was asked for is no call without a tag', () => {
    const json = '{"name": "open_page", "arguments": {"url": "u"}}'
    const output = { type: 'json-object' } as const
    expect(read(json, { output })).toEqual(onlyText(json))
    expect(read(`<tool_call>${json}</tool_call>`, { output }).calls).toEqual(['open_page {"url": "u"}'])
  })

  test('a call ends reasoning that nothing closes, and is only thought of in front of a closing tag', () => {
    const call = '<tool_call>\n{"name": "open_page", "arguments": {}}\n</tool_call>'
    expect(read(`<think>\nHm.\n${call}`)).toEqual({ text: '', reasoning: 'Hm.', calls: ['open_page {}'] })
    expect(read(`<think>\nHm. ${call}\n</think>\n\nNo.`).calls).toEqual([])
  })

  test('a tool that is declared and may not be called is called, too', () => {
    const toolChoice = { type: 'auto', names: ['g'] } as const
    expect(read('<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>', { toolChoice }).calls).toEqual(['f {"n": 1}'])
  })
})

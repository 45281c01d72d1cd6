import { describe, expect, test } from 'vitest'
import { hermes, joinEvents, parse, tools } from '../../../test/support/parse-output.ts'
import type { GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { createOutputParser, type OutputParserOptions } from './output-parser.ts'

const argumentsOf = (raw: string, options?: OutputParserOptions) => parse(raw, options).calls.map((call) => call.arguments)
const inTags = (body: string) => `<tool_call>\n${body}\n</tool_call>`

describe('reasoning', () => {
  test.each([
    { name: 'between its tags', raw: '<think>\nhm\n</think>\n\nYes.', reasoning: 'hm', text: 'Yes.' },
    { name: 'after white space', raw: '\n<think>hm</think>Yes.', reasoning: 'hm', text: 'Yes.' },
    { name: 'empty, so that there is none', raw: '<think>\n\n</think>\n\nYes.', reasoning: '', text: 'Yes.' },
    { name: 'never closed', raw: '<think>\nhm, well', reasoning: 'hm, well', text: '' },
    { name: 'a tag inside an answer is text', raw: 'Use <think> tags.', reasoning: '', text: 'Use <think> tags.' },
    { name: 'a tag that was only begun', raw: 'a <thin', reasoning: '', text: 'a <thin' },
  ])('$name', ({ raw, reasoning, text }) => {
    expect(parse(raw)).toEqual({ reasoning, text, calls: [] })
  })

  test('begins the output if the prompt ended inside it', () => {
    const format = { ...hermes, startsInReasoning: true }
    expect(parse('hm\n</think>\n\nYes.', { format })).toMatchObject({ reasoning: 'hm', text: 'Yes.' })
    expect(parse('<think>\nhm\n</think>\n\nYes.', { format })).toMatchObject({ reasoning: 'hm', text: 'Yes.' })
    expect(parse('</think>\n\nYes.', { format })).toEqual({ reasoning: '', text: 'Yes.', calls: [] })
  })

  test('is split in requests without tools, and left in the text on demand', () => {
    expect(parse('<think>hm</think>f', { tools: [] })).toMatchObject({ reasoning: 'hm', text: 'f' })
    expect(parse('<think>hm</think>f', { toolChoice: { type: 'none' } })).toMatchObject({ reasoning: 'hm', text: 'f' })
    expect(parse('<think>hm</think>f', { splitReasoning: false })).toMatchObject({ text: '<think>hm</think>f' })
  })

  test('a call before its closing tag is reasoning, and without a closing tag it ends it', () => {
    const call = inTags('{"name": "f", "arguments": {}}')
    expect(parse(`<think>hm ${call} more</think>done`)).toEqual({ reasoning: `hm ${call} more`, text: 'done', calls: [] })
    expect(parse(`<think>hm ${call}${call}\nmore`)).toMatchObject({
      reasoning: 'hm',
      text: '\nmore',
      calls: [{ name: 'f', arguments: '{}' }, { name: 'f' }],
    })
  })

  test('contains what looks like a call in requests without tools', () => {
    const raw = `<think>hm ${inTags('{"name": "f", "arguments": {}}')} more</think>done`
    for (const options of [{ tools: [] }, { toolChoice: { type: 'none' } }] as const) {
      expect(parse(raw, options)).toEqual({
        reasoning: `hm ${inTags('{"name": "f", "arguments": {}}')} more`,
        text: 'done',
        calls: [],
      })
    }
  })

  test('a bare function inside it is not a call', () => {
    expect(parse('<think><function=f></function></think><function=g></function>').calls.map(({ name }) => name)).toEqual(['g'])
  })

  test('pieces that begin inside it are counted', () => {
    const parser = createOutputParser({ format: hermes })
    for (const text of ['<think>', '\n', 'a', 'b', '</think>', 'c']) parser.push({ type: 'raw-text', choice: 0, text })
    parser.end(0)
    expect(parser.reasoningTokens).toBe(4)
  })
})

describe('calls', () => {
  test('a call begins as soon as its name is certain, and its arguments come in pieces', () => {
    const parser = createOutputParser({ format: hermes, tools, makeCallId: () => 'c1' })
    const push = (text: string) => parser.push({ type: 'raw-text', choice: 0, text })
    expect(push('Hi <tool')).toEqual([
      { type: 'text-start', choice: 0 },
      { type: 'text-delta', choice: 0, delta: 'Hi ' },
    ])
    expect(push('_call>\n{"name": "f", "arg')).toEqual([])
    expect(push('uments": {"s": "a')).toEqual([
      { type: 'text-end', choice: 0 },
      { type: 'tool-call-start', choice: 0, id: 'c1', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 'c1', delta: '{"s": "a' },
    ])
    expect(push('b"}}\n</tool_call>')).toEqual([
      { type: 'tool-call-delta', choice: 0, id: 'c1', delta: 'b"}' },
      { type: 'tool-call-end', choice: 0, id: 'c1' },
    ])
    expect(parser.end(0)).toEqual([])
    expect(parser.calls(0)).toBe(1)
    expect(parser.calls(1)).toBe(0)
  })

  test('text before, between and after calls is text', () => {
    const result = parse(`one ${inTags('{"name": "f", "arguments": {}}')} two ${inTags('{"name": "g"}')}three`)
    expect(result.text).toBe('one two three')
    expect(result.calls.map(({ name }) => name)).toEqual(['f', 'g'])
  })

  test.each([
    { name: 'arguments before the name', body: '{"arguments": {"n": 1}, "name": "f"}', json: '{"n": 1}' },
    { name: 'parameters', body: '{"name": "f", "parameters": {"n": 1}}', json: '{"n": 1}' },
    { name: 'inside function', body: '{"type": "function", "function": {"name": "f", "arguments": {"n": 1}}}', json: '{"n": 1}' },
    { name: 'arguments as a string that is JSON', body: '{"name": "f", "arguments": "{\\"n\\": 1}"}', json: '{"n": 1}' },
    { name: 'no arguments at all', body: '{"name": "f", "arguments": null}', json: '{}' },
    { name: 'a number as a string', body: '{"name": "f", "arguments": {"n": "5"}}', json: '{"n": 5}' },
    { name: 'a string as a number', body: '{"name": "f", "arguments": {"s": 12.50}}', json: '{"s": "12.50"}' },
    {
      name: 'leading zeros',
      body: '{"name": "f", "arguments": {"s": "01234", "either": "007"}}',
      json: '{"s": "01234", "either": "007"}',
    },
    { name: 'items', body: '{"name": "f", "arguments": {"list": ["1", 2]}}', json: '{"list": [1, 2]}' },
    { name: 'single quotes', body: "{'name': 'f', 'arguments': {'s': 'it\\'s \"so\"'}}", json: '{"s": "it\'s \\"so\\""}' },
    { name: 'Python', body: '{"name": "f", "arguments": {"x": True, "y": None}}', json: '{"x": true, "y": null}' },
    { name: 'trailing commas', body: '{"name": "f", "arguments": {"list": [1, 2,], },}', json: '{"list": [1, 2] }' },
    {
      name: 'a backslash in front of a wide character',
      body: '{"name": "f", "arguments": {"s": "C:\\😀"}}',
      json: '{"s": "C:\\\\😀"}',
    },
    { name: 'a line break in a string', body: '{"name": "f", "arguments": {"s": "a\nb"}}', json: '{"s": "a\\nb"}' },
    { name: 'a brace too few', body: '{"name": "f", "arguments": {"n": 1}', json: '{"n": 1}' },
    { name: 'a brace too many', body: '{"name": "f", "arguments": {"n": 1}}}', json: '{"n": 1}' },
    { name: 'a bracket that was forgotten', body: '{"name": "f", "arguments": {"list": [1, 2}}', json: '{"list": [1, 2]}' },
    { name: 'a word without quotes', body: '{"name": "f", "arguments": {"s": hello there}}', json: '{"s": "hello there"}' },
  ])('$name', ({ body, json }) => {
    expect(argumentsOf(inTags(body))).toEqual([json])
    expect(() => JSON.parse(json)).not.toThrow()
  })

  test('a string is the argument of a tool whose only required parameter is a string', () => {
    expect(argumentsOf(inTags('{"name": "g", "arguments": "Paris"}'))).toEqual(['{"city":"Paris"}'])
  })

  test.each([
    '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
    '<tool_call>what is this</tool_call>',
    '<tool_call>',
    '{"name": "bob", "age": 3}',
    '{"name": "f"}',
    '[{"name": "f"}]',
    '42',
    '[]',
    'f and g are tools',
    'see `{"name": "f", "arguments": {}}`',
    '{"function": {"function": {"name": "f", "arguments": {}}}}',
  ])('%j is text', (raw) => {
    expect(parse(raw)).toEqual({ text: raw, reasoning: '', calls: [] })
  })

  test('a call of a tool that may not be called is text', () => {
    const raw = inTags('{"name": "f", "arguments": {}}')
    expect(parse(raw, { toolChoice: { type: 'none' } })).toMatchObject({ text: raw, calls: [] })
    expect(parse(raw, { toolChoice: { type: 'auto', names: ['g'] } })).toMatchObject({ text: raw, calls: [] })
    expect(parse(raw, { tools: [] })).toMatchObject({ text: raw, calls: [] })
  })

  test.each(['required', 'auto'] as const)('where one tool is %s, calls of the others are dropped or text', (type) => {
    const raw = inTags('{"name": "f", "arguments": {}}') + inTags('{"name": "g", "arguments": {}}')
    const { text, calls } = parse(raw, { toolChoice: { type, names: ['g'] } })
    expect(calls.map(({ name }) => name)).toEqual(['g'])
    expect(text).toBe(type === 'required' ? '' : inTags('{"name": "f", "arguments": {}}'))
  })

  test('a call of a declared tool is never one of another tool with a similar name', () => {
    const similar = [{ name: 'Read' }, { name: 'read' }]
    const raw = inTags('{"name": "read", "arguments": {}}')
    expect(parse(raw, { tools: similar, toolChoice: { type: 'auto', names: ['Read'] } })).toMatchObject({ text: raw, calls: [] })
    expect(parse(raw, { tools: similar }).calls).toMatchObject([{ name: 'read' }])
    expect(parse(inTags('{"name": "READ", "arguments": {}}'), { tools: similar }).calls).toEqual([])
  })

  test('a list is read up to the first bad call, and is text from there on', () => {
    const { calls, text } = parse('<tool_call>[{"name": "f", "arguments": {}}, {"name": "h", "arguments": {}}]</tool_call>')
    expect(calls.map(({ name }) => name)).toEqual(['f'])
    expect(text).toContain('{"name": "h", "arguments": {}}')
  })

  test.each([
    ['{"name": "f", "arguments": {"n": 1, "s": "ab', '{"n": 1, "s": "ab'],
    ['{"name": "f", "arguments": {"list": [1, 2', '{"list": [1, 2'],
    ['{"name": "f", "arguments": {"n": 1', '{"n": 1'],
  ])('%j truncated by a limit stays as it is', (body, json) => {
    expect(parse(`<tool_call>\n${body}`, {}, 'length').calls.map((call) => call.arguments)).toEqual([json])
  })

  test.each(['<tool_', '<tool_call>', '<tool_call>\n{"na', '<tool_call>\n{"name": "f'])(
    '%j truncated by a limit is the markup of a call, and no text; ended by the model it is text',
    (raw) => {
      expect(parse(raw, { toolChoice: { type: 'required' } }, 'length')).toEqual({ text: '', reasoning: '', calls: [] })
      expect(parse(`Hm ${raw}`, {}, 'length')).toEqual({ text: 'Hm ', reasoning: '', calls: [] })
      expect(parse(raw, {}, 'stop')).toMatchObject({ text: raw, calls: [] })
    },
  )

  test('what may be anything is only dropped where a call is required', () => {
    for (const raw of ['<', '<to', '{"name": "f', '[{"name"']) {
      expect(parse(raw, {}, 'length')).toMatchObject({ text: raw, calls: [] })
    }
    expect(parse('<', { toolChoice: { type: 'required' } }, 'length')).toEqual({ text: '', reasoning: '', calls: [] })
  })

  test('what a limit truncated after a required call is dropped, and text in front of it is not', () => {
    const toolChoice = { type: 'required' } as const
    const first = inTags('{"name": "f", "arguments": {}}')
    expect(parse(`${first}\n<tool_call>\n{"na`, { toolChoice }, 'length')).toMatchObject({ text: '', calls: [{ name: 'f' }] })
    expect(parse('I look: <tool_call>\n{"na', { toolChoice }, 'length')).toMatchObject({ text: 'I look: ', calls: [] })
  })

  test.each([
    ['{"name": "f", "arguments": {"list": [1, 2', '{"list": [1, 2]}'],
    ['{"name": "f", "arguments": {"n": 1,', '{"n": 1}'],
    ['{"name": "f", "arguments": {"n": 1}}', '{"n": 1}'],
  ])('%j that the model ended is completed', (body, json) => {
    expect(argumentsOf(`<tool_call>\n${body}`)).toEqual([json])
  })

  test('two choices are independent', () => {
    const parser = createOutputParser({ format: hermes, tools })
    const events: GenerationEvent[] = []
    const push = (choice: number, text: string) => events.push(...parser.push({ type: 'raw-text', choice, text }))
    push(0, '<tool_call>{"name": "f", "arg')
    push(1, 'plain <tool')
    push(0, 'uments": {}}</tool_call>')
    push(1, ' text')
    events.push(...parser.end(0), ...parser.end(1))
    const of = (choice: number) => joinEvents(events.filter((event) => 'choice' in event && event.choice === choice))
    expect(of(0)).toMatchObject({ text: '', calls: [{ name: 'f' }] })
    expect(of(1)).toEqual({ text: 'plain <tool text', reasoning: '', calls: [] })
  })

  test('every call gets a unique id', () => {
    const parser = createOutputParser({ format: hermes, tools })
    const call = inTags('{"name": "f", "arguments": {}}')
    const ids = parser
      .push({ type: 'raw-text', choice: 0, text: call + call })
      .flatMap((event) => (event.type === 'tool-call-start' ? [event.id] : []))
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/)
  })

  test.each([
    { format: 'mistral', raw: '[TOOL_CALLS][{"name":"f","arguments":{},"id":""}]', ids: ['call_0'] },
    {
      format: 'mistral',
      raw: '[TOOL_CALLS][{"name":"f","arguments":{},"id":null},{"name":"f","arguments":{},"id":{}},{"name":"f","arguments":{},"id":7}]',
      ids: ['call_0', 'call_1', '7'],
    },
    {
      format: 'hermes',
      raw: inTags('{"id":"1","name":"f","arguments":{}}') + inTags('{"id":"1","name":"g","arguments":{}}'),
      ids: ['1', 'call_0'],
    },
    {
      format: 'kimi-k2',
      raw: '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>'.repeat(2),
      ids: ['functions.f:0', 'call_0'],
    },
  ])('an id of the model ($ids) is used once, and only if it is one', ({ format, raw, ids }) => {
    expect(parse(raw, { format: { toolFormat: format, startsInReasoning: false } }).calls.map(({ id }) => id)).toEqual(ids)
  })
})

describe('a value between tags', () => {
  const xml: OutputFormat = { toolFormat: 'qwen3-coder', startsInReasoning: false }
  const value = (key: string, text: string) =>
    argumentsOf(`<tool_call>\n<function=f>\n<parameter=${key}>\n${text}\n</parameter>\n</function>\n</tool_call>`, {
      format: xml,
    })[0]

  test.each([
    ['n', '5', '{"n": 5}'],
    ['s', '5', '{"s": "5"}'],
    ['s', '01234', '{"s": "01234"}'],
    ['s', ' two\n\nlines ', '{"s": " two\\n\\nlines "}'],
    ['s', '</parameter> is how it ends', '{"s": "</parameter> is how it ends"}'],
    ['s', 'call </function> it', '{"s": "call </function> it"}'],
    ['either', '5', '{"either": 5}'],
    ['either', 'five', '{"either": "five"}'],
    ['list', '[1, 2]', '{"list": [1, 2]}'],
    ['undeclared', '{"a": [1]}', '{"undeclared": {"a": [1]}}'],
    ['undeclared', 'NaN', '{"undeclared": "NaN"}'],
  ])('%s=%j', (key, text, json) => {
    expect(value(key, text)).toBe(json)
  })

  test('text is emitted before it is complete', () => {
    const parser = createOutputParser({ format: xml, tools, makeCallId: () => 'c' })
    const events = parser.push({ type: 'raw-text', choice: 0, text: '<tool_call><function=f><parameter=s>a long "text' })
    expect(events.at(-1)).toEqual({ type: 'tool-call-delta', choice: 0, id: 'c', delta: '{"s": "a long \\"text' })
  })
})

describe('answers in JSON', () => {
  const output = { type: 'json-object' } as const

  test.each([
    ['```json\n{"a": 1}\n```', '{"a": 1}'],
    ['```\n{"a": "`b`"}\n```\n', '{"a": "`b`"}'],
    ['{"a": 1}\n', '{"a": 1}'],
    ['{"a": " x "}', '{"a": " x "}'],
    ['<think>hm</think>\n```json\n[1]\n```', '[1]'],
    ['``', '``'],
    ['```json\n{"a": 1}\n```\nHope this helps', '{"a": 1}\nHope this helps'],
    ['```json\n{"a": 1}\n``` \n\nThis:\n```\nx\n```\n', '{"a": 1}\n\nThis:\n```\nx\n```'],
    ['```js\n1', '```js\n1'],
  ])('%j is %j', (raw, text) => {
    expect(parse(raw, { output }).text).toBe(text)
    if (!raw.startsWith('<')) expect(parse(raw, { output, format: { startsInReasoning: false } }).text).toBe(text)
  })
})

describe('tokens', () => {
  const token = (id: number, text: string): GeneratedToken => ({ id, text, bytes: [...Buffer.from(text)], logprob: -1, top: [] })

  test('leave on the delta of their text', () => {
    const parser = createOutputParser({ format: hermes, tools })
    const [, delta] = parser.push({ type: 'raw-text', choice: 0, text: 'Hi', tokens: [token(7, 'Hi')] })
    expect(delta).toMatchObject({ type: 'text-delta', delta: 'Hi', tokens: [{ id: 7 }] })
  })
})

describe('dropped tags', () => {
  test.each([
    { format: 'any', raw: 'ChatML has <|im_end|> and Llama <|eot_id|>.', text: 'ChatML has <|im_end|> and Llama <|eot_id|>.' },
    { format: 'any', raw: 'Hi<|eot_id|>', text: 'Hi' },
    { format: 'any', raw: 'Hi<|im_end|> \n<|im_end|>\n', text: 'Hi' },
    { format: 'any', raw: '<|im_end|> <|eot_id|> is meant', text: '<|im_end|> <|eot_id|> is meant' },
    { format: 'granite', raw: 'Close it with </response> please', text: 'Close it with </response> please' },
    { format: 'granite', raw: '<response>Hi</response>', text: 'Hi' },
    { format: 'granite', raw: '<response>Hi</response></response>', text: 'Hi</response>' },
    { format: 'functionary-v3.2', raw: 'all\nHi', text: 'Hi' },
    { format: 'functionary-v3.2', raw: 'all\nall\nof them', text: 'all\nof them' },
    { format: 'functionary-v3.2', raw: '>>>all\nall\nof them', text: 'all\nof them' },
    { format: 'functionary-v3.2', raw: 'f\n{}all\nof them', text: 'all\nof them' },
  ])('$format: $raw', ({ format, raw, text }) => {
    expect(parse(raw, { format: { toolFormat: format, startsInReasoning: false } }).text).toBe(text)
  })
})

import { describe, expect, test } from 'vitest'
import { parse, tools } from '../../../test/support/parse-output.ts'
import type { FunctionTool } from '../../contract/request.ts'

const now: FunctionTool = { name: 'now', parameters: { type: 'object', properties: {} } }
const code: FunctionTool = {
  name: 'code_interpreter',
  parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
}
const all = [...tools, now, code]

/** What is read, the same however the text is cut; the limit of a request ended it if `truncated`. */
function read(
  toolFormat: string,
  raw: string,
  { truncated = false, only = all }: { truncated?: boolean; only?: readonly FunctionTool[] } = {},
) {
  const format = { toolFormat, startsInReasoning: false }
  const { text, calls } = parse(raw, { format, tools: only }, truncated ? 'length' : 'stop')
  return { text, calls: calls.map(({ name, arguments: json }) => [name, json]) }
}

const noArguments = [['now', '{}']]

describe('a call without arguments', () => {
  test.each([
    ['harmony', '<|channel|>commentary to=functions.now <|constrain|>json<|message|><|call|>'],
    ['harmony', '<|channel|>commentary to=functions.now <|constrain|>json<|message|>'],
    ['harmony', '<|channel|>commentary to=functions.now <|constrain|>json<|message|>null<|call|>'],
    ['harmony', '<|channel|>commentary to=now <|constrain|>json<|message|>""<|call|>'],
    ['glimmer', ' to=now<|message|><|eom|>'],
    ['hermes', '<tool_call>\n{"name": "now"}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "now", "arguments": null}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "now", "arguments": ""}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "now", "arguments": "null"}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "now", "arguments": }\n</tool_call>'],
    ['hermes', '<tools>\n{"name": "now", "arguments": {}}\n</tools>'],
    ['qwen3-coder', '<tool_call>\n<function=now>\n</function>\n</tool_call>'],
    ['qwen3-coder', '<tool_call>\n<function=now>\nnull\n</function>\n</tool_call>'],
    ['qwen3-coder', '<tool_call>\n<function=now>\n</tool_call>'],
    ['functionary-v3.1', '<function=now></function>'],
    ['functionary-v3.2', 'now\n'],
    ['functionary-v3.2', '>>>now\nnull'],
    ['glm', '<tool_call>now</tool_call>'],
    ['glm', '<tool_call>now\nnull</tool_call>'],
    ['minimax-m2', '<minimax:tool_call>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>'],
    ['minimax-m2', '<minimax:tool_call>\n<invoke name="now">null</invoke>\n</minimax:tool_call>'],
    [
      'kimi-k2',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>',
    ],
    ['kimi-k2', '<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>null<|tool_call_end|>'],
    [
      'deepseek',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
    ['deepseek-v3.1', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>""<｜tool▁call▁end｜><｜tool▁calls▁end｜>'],
    ['mistral-named', '[TOOL_CALLS]now[ARGS]'],
    ['mistral-named', '[TOOL_CALLS]now[ARGS]null</s>'],
    ['mistral', '[TOOL_CALLS][{"name": "now", "arguments": ""}]'],
    ['apertus', '<|tools_prefix|>[{"now": null}]<|tools_suffix|>'],
    ['react', 'Action: now\nAction Input: None'],
    ['gemma4', '<|tool_call>call:now<tool_call|>'],
    ['gemma4', '<|tool_call>call:now(){}<tool_call|>'],
    ['pythonic', '[now("")]'],
    ['deepseek-dsml', '<|DSML|tool_calls>\n<|DSML|invoke name="now">\n</|DSML|invoke>\n</|DSML|tool_calls>'],
  ])('of %s has none: %s', (format, raw) => {
    expect(read(format, raw)).toEqual({ text: '', calls: noArguments })
  })
})

describe('a call that the model only began', () => {
  test.each([
    ['qwen3-coder', '<tool_call><function=f>'],
    ['qwen3-coder', '<tool_call>\n<function=now>\n'],
    ['minimax-m2', '<minimax:tool_call>\n<invoke name="f">'],
    ['minimax-m3', ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">'],
    ['kimi-k3', '<|open|>call tool="f" index="1"<|sep|>'],
    ['kimi-k2', '<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>'],
    ['hermes', '<tool_call>\n{"name": "f"'],
    ['hermes', '<tool_call>\n{"name": "f", "arguments": {'],
    ['functionary-v3.1', '<function=f>'],
    ['mistral-named', '[TOOL_CALLS]g[ARGS]'],
    ['mistral-named', '[TOOL_CALLS]g[ARGS]{'],
    ['gemma4', '<|tool_call>call:f{'],
  ])('of %s is text: %s', (format, raw) => {
    expect(read(format, raw)).toEqual({ text: raw, calls: [] })
  })
})

describe('a value whose closing tag is missing', () => {
  test.each([
    ['qwen3-coder', '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\nhello\n</tool_call>'],
    ['qwen3-coder', '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\nhello\n</function>\n</tool_call>'],
    ['seed-oss', '<seed:tool_call>\n<function=f>\n<parameter=n>3</parameter>\n<parameter=s>hello</seed:tool_call>'],
    ['glm', '<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>s</arg_key>\n<arg_value>hello</tool_call>'],
    [
      'hunyuan-preview',
      '<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>s</arg_key>\n<arg_value>hello</tool_calls>',
    ],
    [
      'minimax-m2',
      '<minimax:tool_call>\n<invoke name="f">\n<parameter name="n">3</parameter>\n<parameter name="s">hello</minimax:tool_call>',
    ],
    [
      'minimax-m3',
      ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<n>3]<]minimax[>[</n>]<]minimax[>[<s>hello]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
    ],
  ])('of %s ends with what is around it', (format, raw) => {
    expect(read(format, raw)).toEqual({ text: '', calls: [['f', '{"n": 3, "s": "hello"}']] })
  })

  test('goes on where its own tag comes later', () => {
    const raw =
      '<tool_call>\n<function=f>\n<parameter=s>\na </tool_call> b </function> c\n</parameter>\n</function>\n</tool_call>'
    expect(read('qwen3-coder', raw).calls).toEqual([['f', '{"s": "a </tool_call> b </function> c"}']])
    const json = '<tool_call>\n{"name": "f", "arguments": {"s": "a </tool_call> b"}}\n</tool_call>'
    expect(read('hermes', json).calls).toEqual([['f', '{"s": "a </tool_call> b"}']])
  })
})

describe('a list of calls', () => {
  test.each([
    ['pythonic', '[nope(a=1), g(city="x")]', 'nope(a=1)'],
    ['pythonic', '[g(city="x"), nope(a=")]")]', 'nope(a=")]")'],
    ['lfm2', '<|tool_call_start|>[nope(), g(city="x")]<|tool_call_end|>', 'nope()'],
    ['olmo', '<function_calls>nope()\ng(city="x")</function_calls>', 'nope()'],
    [
      'tool-calls-tag',
      '<tool_calls>[{"name": "nope", "arguments": {"a": "}"}}, {"name": "g", "arguments": {"city": "x"}}]</tool_calls>',
      '{"name": "nope", "arguments": {"a": "}"}}',
    ],
    [
      'mistral',
      '[TOOL_CALLS][{"name": "nope", "arguments": {}}, {"name": "g", "arguments": {"city": "x"}}]',
      '{"name": "nope", "arguments": {}}',
    ],
    [
      'llama3',
      '{"name": "nope", "parameters": {}}; {"name": "g", "parameters": {"city": "x"}}',
      '{"name": "nope", "parameters": {}}',
    ],
  ])('of %s is read beside one of an undeclared tool, which is text: %s', (format, raw, text) => {
    expect(read(format, raw)).toEqual({ text, calls: [['g', '{"city": "x"}']] })
  })

  test('without a declared tool is text', () => {
    expect(read('pythonic', '[nope(a=1), neither()]')).toEqual({ text: '[nope(a=1), neither()]', calls: [] })
  })

  test.each([
    ['pythonic', '[g(city="x"), '],
    ['pythonic', '[g(city="x"), g'],
    ['lfm2', '<|tool_call_start|>[g(city="x"), g(ci'],
    ['mistral', '[TOOL_CALLS][{"name": "g", "arguments": {"city": "x"}}, '],
    ['mistral', '[TOOL_CALLS][{"name": "g", "arguments": {"city": "x"}}, {"na'],
  ])('of %s that a limit truncated between two leaves nothing behind: %s', (format, raw) => {
    const { text, calls } = read(format, raw, { truncated: true })
    expect({ text, first: calls[0] }).toEqual({ text: '', first: ['g', '{"city": "x"}'] })
  })
})

test("Llama's own tools are called without their tag, where they may be called", () => {
  const search = { name: 'brave_search', description: '', parameters: { type: 'object' } }
  const raw = 'brave_search.call(query="a (b)")'
  expect(read('llama3', raw, { only: [search] })).toEqual({ text: '', calls: [['brave_search', '{"query": "a (b)"}']] })
  const parameters = { type: 'object', properties: { query: { type: 'string' } } }
  const misnamed = read('llama3', 'brave_search.call(q="a")', { only: [{ ...search, parameters }] })
  expect(misnamed.calls).toEqual([['brave_search', '{"query": "a"}']])
  expect(read('llama3', `As in ${raw}`, { only: [search] })).toEqual({ text: `As in ${raw}`, calls: [] })
  expect(read('llama3', raw)).toEqual({ text: raw, calls: [] })
})

describe("code for Llama's interpreter", () => {
  test.each([
    ['llama3', '<|python_tag|>import math\nprint("a")<|eom_id|>', '{"code": "import math\\nprint(\\"a\\")"}'],
    ['llama3', '<|python_tag|>[x for x in y]', '{"code": "[x for x in y]"}'],
    ['llama4', '<|python_start|>print(1)<|python_end|>', '{"code": "print(1)"}'],
  ])('of %s is a call of it', (format, raw, json) => {
    expect(read(format, raw)).toEqual({ text: '', calls: [['code_interpreter', json]] })
  })

  test('is text where it may not be called, and no code where it is a call', () => {
    expect(read('llama3', '<|python_tag|>import math', { only: [now] })).toEqual({ text: '<|python_tag|>import math', calls: [] })
    expect(read('llama3', '<|python_tag|>now()').calls).toEqual(noArguments)
  })
})

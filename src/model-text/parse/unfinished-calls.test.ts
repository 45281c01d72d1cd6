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
    ['qwen3-coder', '<tool_call>\n<function=now>\n'],
    ['qwen3-coder', '<tool_call>\n<function = now>'],
    ['glm', '<tool_call>now'],
    ['longcat-pairs', '<longcat_tool_call>now'],
    ['hunyuan-preview', '<tool_calls>\n<tool_call>now<tool_sep>'],
    ['hunyuan-preview', '<tool_calls>\n<tool_call>now</tool_calls>'],
    ['minimax-m2', '<minimax:tool_call>\n<invoke name="now">\n</minimax:tool_call>'],
    ['minimax-m3', ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="now">'],
    ['kimi-k3', '<|open|>call tool="now" index="1"<|sep|>'],
    ['kimi-k2', '<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>'],
    ['kimi-k2', '<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_end|><|tool_calls_section_end|>'],
    ['kimi-k2', '<|tool_call_begin|>functions.now:0'],
    ['solar', '<|tool_call:begin|>1<|tool_call:name|>now<|tool_call:end|>'],
    ['deepseek', '<｜tool▁call▁begin｜>function<｜tool▁sep｜>now<｜tool▁call▁end｜>'],
    ['deepseek-v3.1', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁call▁end｜><｜tool▁calls▁end｜>'],
    ['function-gemma', '<start_function_call>call:now'],
    ['react', 'Action: now'],
    ['functionary-v3.2', '>>>now'],
    ['mistral-named', '[TOOL_CALLS]now'],
    ['mistral-named', '[TOOL_CALLS]now</s>'],
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
    ['qwen3-coder', '<tool_call><function=f>', '<function=f>'],
    ['minimax-m2', '<minimax:tool_call>\n<invoke name="f">', '<invoke name="f">'],
    ['minimax-m3', ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">', '<invoke name="f">'],
    ['kimi-k3', '<|open|>call tool="f" index="1"<|sep|>', 'call tool="f" index="1"'],
    ['kimi-k2', '<|tool_call_begin|>functions.g:0', 'functions.g:0'],
    ['kimi-k2', '<|tool_calls_section_begin|><|tool_call_begin|>functions.g:0<|tool_call_argument_begin|>', 'functions.g:0'],
    ['hermes', '<tool_call>\n{"name": "f"', '{"name": "f"'],
    ['hermes', '<tool_call>\n{"name": "f", "arguments": {', '{"name": "f", "arguments": {'],
    ['functionary-v3.1', '<function=f>', '<function=f>'],
    ['mistral-named', '[TOOL_CALLS]g', 'g'],
    ['mistral-named', '[TOOL_CALLS]g[ARGS]', 'g'],
    ['mistral-named', '[TOOL_CALLS]g[ARGS]{', 'g{'],
    ['gemma4', '<|tool_call>call:f{', 'call:f{'],
  ])('of %s is text without the tokens around it: %s', (format, raw, text) => {
    expect(read(format, raw)).toEqual({ text, calls: [] })
  })

  test('is text with its tokens where no such tool may be called, and where it is mentioned', () => {
    for (const raw of ['[TOOL_CALLS]h[ARGS]', '[TOOL_CALLS] begins the call of a tool.']) {
      expect(read('mistral-named', raw)).toEqual({ text: raw, calls: [] })
    }
  })
})

describe('a call that cannot be read', () => {
  test.each([
    ['lfm2', 'So: <|tool_call_start|>[f(s="a)]<|tool_call_end|> Yes.', 'So: [f(s="a)] Yes.'],
    ['llama4', '<|python_start|>[g(1, 2)]<|python_end|>', '[g(1, 2)]'],
    ['olmo', '<function_calls>g(1, 2)</function_calls>', 'g(1, 2)'],
    ['harmony', '<|channel|>commentary to=functions.g <|constrain|>json<|message|>Oslo<|call|>', 'Oslo'],
  ])('of %s is text without the tokens around it: %s', (format, raw, text) => {
    expect(read(format, raw, { only: tools })).toEqual({ text, calls: [] })
  })
})

describe('an opening tag in the place of a closing one', () => {
  const call = '{"name": "g", "arguments": {"city": "x"}}'

  test.each([
    ['hermes', `<tool_call>\n${call}\n<tool_call>`],
    ['hermes', `<tool_call>\n${call}\n<tool_call>\n<tool_call>\n${call}\n</tool_call>`],
    ['nemotron', `<TOOLCALL>[${call}]<TOOLCALL>`],
    ['gemma4', '<|tool_call>call:g{city:<|"|>x<|"|>}<|tool_call>'],
    ['gemma4', '<|tool_call>call:g{city:<|"|>x<|"|>}<|tool_call|>'],
    ['gemma4', '<|tool_call>call:g{city:<|"|>x<|"|><|tool_call|>'],
    [
      'kimi-k2',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.g:0<|tool_call_argument_begin|>{"city": "x"}<|tool_call_begin|><|tool_calls_section_end|>',
    ],
    ['lfm2', '<|tool_call_start|>[g(city="x")]<|tool_call_start|>'],
    ['seed-oss', '<seed:tool_call><function=g><parameter=city>x</parameter></function><seed:tool_call>'],
  ])('of %s is not text: %s', (format, raw) => {
    const { text, calls } = read(format, raw)
    expect(text).toBe('')
    expect(new Set(calls.map(([name, json]) => `${name} ${json?.replaceAll(' ', '')}`))).toEqual(new Set(['g {"city":"x"}']))
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

  test.each([
    ['qwen3-coder', '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\nhello'],
    ['qwen3-coder', '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\nhello\n<|im_end|>'],
    ['glm', '<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>s</arg_key>\n<arg_value>hello'],
    ['minimax-m3', ']<]minimax[>[<invoke name="f">]<]minimax[>[<n>3]<]minimax[>[</n>]<]minimax[>[<s>hello'],
    [
      'kimi-k3',
      '<|open|>call tool="f"<|sep|><|open|>argument key="n"<|sep|>3<|close|>argument<|sep|><|open|>argument key="s"<|sep|>hello',
    ],
  ])('of %s ends with the turn', (format, raw) => {
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

test.each([
  [
    'qwen3-coder',
    '<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=n>\n4\n</parameter>\n</function>\n</tool_call>',
  ],
  [
    'minimax-m3',
    ']<]minimax[>[<invoke name="f">]<]minimax[>[<n>3]<]minimax[>[</n>]<]minimax[>[<n>4]<]minimax[>[</n>]<]minimax[>[</invoke>',
  ],
  [
    'deepseek-dsml',
    '<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="n" string="false">3</｜DSML｜parameter>\n<｜DSML｜parameter name="n" string="false">4</｜DSML｜parameter>\n</｜DSML｜invoke>',
  ],
])('a parameter that %s has twice has its first value', (format, raw) => {
  expect(read(format, raw)).toEqual({ text: '', calls: [['f', '{"n": 3}']] })
})

test('spaces around the sign of a tag do not count', () => {
  const raw = '<tool_call>\n<function = f>\n<parameter = n>\n3\n</parameter>\n</function>\n</tool_call>'
  expect(read('qwen3-coder', raw)).toEqual({ text: '', calls: [['f', '{"n": 3}']] })
})

test('a block of DeepSeek may have any name', () => {
  const block = (name: string) =>
    `Yes.\n\n<｜DSML｜${name}>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="n" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜${name}>`
  for (const name of ['tool_calls', 'function_calls', 'calls', 'tools']) {
    expect(read('deepseek-dsml', block(name))).toEqual({ text: 'Yes.\n\n', calls: [['f', '{"n": 3}']] })
  }
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
  const second = read('llama3', 'brave_search.call(query="a", n=3)', { only: [{ ...search, parameters }] })
  expect(second.calls).toEqual([['brave_search', '{"query": "a", "n": 3}']])
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

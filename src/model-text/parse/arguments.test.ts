import { describe, expect, test } from 'vitest'
import { parse } from '../../../test/support/parse-output.ts'
import type { ToolCallState } from '../../contract/request.ts'

type Read = {
  readonly format: string
  readonly raw: string
  /** Of each call: its arguments, its state, and its raw text where it differs from the arguments. */
  readonly calls: readonly (readonly [json: string, state?: Exclude<ToolCallState, 'ok'>, raw?: string])[]
  readonly text?: string
}

/** `f` is a call with one string, and `g` follows it. */
const texts: Readonly<Record<string, (f: string, g: string) => string>> = {
  hermes: (f, g) =>
    `<tool_call>\n{"name": "f", "arguments": ${f}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": ${g}}\n</tool_call>`,
  'kimi-k2': (f, g) =>
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>${f}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>${g}<|tool_call_end|><|tool_calls_section_end|>`,
  'deepseek-v3.1': (f, g) =>
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>${f}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>${g}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  'mistral-named': (f, g) => `[TOOL_CALLS]f[ARGS]${f}[TOOL_CALLS]g[ARGS]${g}`,
  solar: (f, g) =>
    `<|tool_call:begin|>1<|tool_call:name|>f<|tool_call:args|>${f}<|tool_call:end|><|tool_call:begin|>2<|tool_call:name|>g<|tool_call:args|>${g}<|tool_call:end|><|calls|>`,
  harmony: (f, g) =>
    `<|channel|>commentary to=functions.f<|message|>${f}<|call|><|start|>assistant<|channel|>commentary to=functions.g<|message|>${g}<|call|>`,
}
const names = Object.keys(texts)

const read = ({ format, raw }: Pick<Read, 'format' | 'raw'>, reason: 'stop' | 'length' = 'stop') =>
  parse(raw, { format: { toolFormat: format, startsInReasoning: false } }, reason)

const written = (format: string, f: string, g = '{"city": "x"}') => ({ format, raw: texts[format]?.(f, g) ?? '' })

describe.each(names)('%s: arguments', (format) => {
  const second = { name: 'g', arguments: '{"city": "x"}' }

  test.each([
    ['{"n": 12345678901234567890, "x": 1.10, "s": "a\\u00e9"}'],
    ['{"s": "the tags </tool_call> and <|tool_call_end|> and [TOOL_CALLS] end calls"}'],
  ])('%s stay as they are', (json) => {
    const { calls, text } = read(written(format, json))
    expect(calls).toMatchObject([{ name: 'f', arguments: json }, second])
    expect(calls[0]).not.toHaveProperty('state')
    expect(text).toBe('')
  })

  test.each([
    ["{'s': 'a'}", '{"s": "a"}'],
    ['{"s": "a",}', '{"s": "a"}'],
    ['{"n": "5"}', '{"n": 5}'],
    ['{"s": "a\nb"}', '{"s": "a\\nb"}'],
    ['{"s": hello there}', '{"s": "hello there"}'],
    ['{"x": [1, 2}', '{"x": [1, 2]}'],
  ])('%j are repaired, and marked', (raw, json) => {
    expect(read(written(format, raw))).toMatchObject({
      text: '',
      calls: [{ arguments: json, state: 'repaired', raw }, second],
    })
  })

  test.each(['{"x": fasle}', '{"s" "b": 1}', '{invalid json}', '{"s": "say "hi""}', '{"s": "a", 5}'])(
    '%j are unparseable: passed on as they are',
    (raw) => {
      const { calls, text } = read(written(format, raw))
      expect(calls).toMatchObject([{ arguments: raw, state: 'unparseable' }, second])
      expect(calls[0]).not.toHaveProperty('raw')
      expect(text).toBe('')
    },
  )

  test.each(['{"s": "a', '{"s": ', '{"x": fals', '{"x'])('%j end with their call, and the next call is read', (raw) => {
    const { calls, text } = read({ format, raw: texts[format]?.(raw, '{"city": "x"}').replace(`${raw}}`, raw) ?? '' })
    expect(calls.map((call) => ({ ...call, arguments: call.arguments.replace(/(?:\\n|\s)+$/, '') }))).toMatchObject([
      { arguments: raw.trim(), state: 'unparseable' },
      second,
    ])
    expect(text).toBe('')
  })

  test('a limit truncates them where it is', () => {
    for (const cut of ['{"s": "a', '{"n": 1', '{"x": tru', '{"s": "a", ', '{"x": [1, {"y": 2', '{']) {
      const { raw } = written(format, '\0')
      const { calls } = read({ format, raw: raw.slice(0, raw.indexOf('\0')) + cut }, 'length')
      expect(calls).toEqual([{ id: expect.any(String), name: 'f', arguments: cut }])
    }
  })
})

describe('arguments of other formats', () => {
  const cases: readonly Read[] = [
    {
      format: 'gigachat',
      raw: '<|function_call|>{"name": "f", "arguments": {invalid json}}<|function_call|>{"name": "g"}',
      calls: [['{invalid json}', 'unparseable'], ['{}']],
    },
    { format: 'hermes', raw: '<tool_call>{"name": "f", "arguments": [1]}</tool_call>', calls: [['[1]', 'unparseable']] },
    { format: 'hermes', raw: '<tool_call>{"name": "f", "arguments": "words"}</tool_call>', calls: [['"words"', 'unparseable']] },
    {
      format: 'hermes',
      raw: '<tool_call>{"name": "g", "arguments": "Paris"}</tool_call>',
      calls: [['{"city":"Paris"}', 'repaired', '"Paris"']],
    },
    {
      format: 'kimi-k2',
      raw: '<|tool_call_begin|>f<|tool_call_argument_begin|>words<|tool_call_end|>',
      calls: [['words', 'unparseable']],
    },
    {
      format: 'deepseek-dsml',
      raw: '<｜DSML｜tool_calls><｜DSML｜invoke name="f">\n{"n": 1}\n</｜DSML｜invoke><｜DSML｜invoke name="g"></｜DSML｜invoke></｜DSML｜tool_calls>',
      calls: [['{"n": 1}', 'repaired', '\n{"n": 1}'], ['{}']],
    },
    {
      format: 'deepseek-dsml',
      raw: '<｜DSML｜tool_calls><｜DSML｜invoke name="f">what</｜DSML｜invoke><｜DSML｜invoke name="g"></｜DSML｜invoke></｜DSML｜tool_calls>',
      calls: [['what', 'unparseable'], ['{}']],
    },
    {
      format: 'glm',
      raw: '<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key></tool_call><tool_call>g</tool_call>',
      calls: [
        ['{"n": 1\n<arg_key>s</arg_key>', 'unparseable', '<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>'],
        ['{}'],
      ],
    },
    {
      format: 'minimax-m3',
      raw: ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<s>a]<]minimax[>[</n>]<]minimax[>[</invoke>]<]minimax[>[<invoke name="g">]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      calls: [[']<]minimax[>[<s>a]<]minimax[>[</n>', 'unparseable'], ['{}']],
    },
    {
      format: 'pythonic',
      raw: '[f(1, "a", 3, [4], 5), g(city="x")]',
      calls: [['{"city": "x"}']],
      text: 'f(1, "a", 3, [4], 5)',
    },
    { format: 'pythonic', raw: '[f(n=]', calls: [], text: '[f(n=]' },
    { format: 'pythonic', raw: '[f(n=1', calls: [['{"n": 1}', 'repaired', 'n=1']] },
    { format: 'pythonic', raw: '[f(1, n=2)]', calls: [], text: '[f(1, n=2)]' },
    { format: 'pythonic', raw: '[f(**{"n": 1, "s"})]', calls: [], text: '[f(**{"n": 1, "s"})]' },
    {
      format: 'gemma4',
      raw: '<|tool_call>call:f{s:<|"|>a<tool_call|><|tool_call>call:g{}<tool_call|>',
      calls: [['{"s":"a', 'unparseable', '{s:<|"|>a'], ['{}']],
    },
    {
      format: 'qwen3-coder',
      raw: '<tool_call><function=f><parameter=n>1</parameter><parameter>2</parameter></function></tool_call>',
      calls: [['{"n": 1<parameter>2</parameter>', 'unparseable', '<parameter=n>1</parameter><parameter>2</parameter>']],
    },
    {
      format: 'seed-oss',
      raw: '<seed:tool_call><function=f><parameter=s>a\n</parameter></function></seed:tool_call>',
      calls: [['{"s": "a\\n"}']],
    },
    { format: 'minicpm', raw: '<function name="f"><param name="s">a\n</param></function>', calls: [['{"s": "a\\n"}']] },
    {
      format: 'minicpm',
      raw: '<function name="f"><param name="s"><![CDATA[a < b </param> &\n]]></param><param name="n"><![CDATA[7]]></param></function>',
      calls: [['{"s": "a < b </param> &\\n", "n": 7}']],
    },
    {
      format: 'qwen3-coder',
      raw: '<function=f><parameter=s>x "</function>" y</parameter></function>',
      calls: [['{"s": "x \\"</function>\\" y"}']],
    },
    {
      format: 'glm',
      raw: '<tool_call>f<arg_key>s</arg_key><arg_value>the tag </tool_call> ends</arg_value></tool_call>',
      calls: [['{"s": "the tag </tool_call> ends"}']],
    },
  ]

  test.each(cases)('$format: $raw', ({ format, raw, calls, text = '' }) => {
    const result = read({ format, raw })
    expect(result.calls.map(({ arguments: json, state, raw: own }) => [json, state, own])).toEqual(
      calls.map(([json, state, own]) => [json, state, own]),
    )
    expect(result.text).toBe(text)
  })

  test('a call in JSON without a tag is truncated like one with a tag', () => {
    for (const format of ['json', 'llama3', 'functools', 'react', 'glm4']) {
      const head = { functools: 'functools[', react: 'Action: f\nAction Input: ', glm4: 'f\n' }[format] ?? ''
      const call = format === 'react' || format === 'glm4' ? '{"n": 1' : '{"name": "f", "parameters": {"n": 1'
      expect(read({ format, raw: head + call }, 'length').calls).toEqual([{ id: 'call_0', name: 'f', arguments: '{"n": 1' }])
    }
  })
})

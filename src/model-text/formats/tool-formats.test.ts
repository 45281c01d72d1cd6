import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { chunkings, parseOutput } from '../../../test/support/parse-output.ts'
import type { FunctionTool } from '../../contract/request.ts'
import { toolFormatNames } from './format-names.ts'
import { recogniseReasoning } from './recognise-reasoning.ts'
import { recogniseToolFormat } from './recognise-tool-format.ts'
import type { CallPiece, RequiredCalls } from './required-calls.ts'
import { findToolFormat, visibleTokens } from './tool-formats.ts'

const tools: readonly FunctionTool[] = [
  {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer' },
        options: { type: 'object', properties: { metric: { type: 'boolean' } } },
      },
      required: ['city'],
    },
  },
  { name: 'now', parameters: { type: 'object', properties: {} } },
]

const rain = { name: 'get_weather', arguments: { city: 'Köln, "am Rhein"', days: 3 } }
const now = { name: 'now', arguments: {} }
const json = JSON.stringify(rain.arguments)

/** One answer of each family: text, and two calls as the model writes them. */
const answers: readonly { readonly format: string; readonly raw: string; readonly text?: string }[] = [
  {
    format: 'hermes',
    raw: `Sure.<tool_call>\n{"name": "get_weather", "arguments": ${json}}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>`,
  },
  {
    format: 'json',
    raw: `Sure.\n[{"name": "get_weather", "arguments": ${json}}, {"function": {"name": "now", "arguments": "{}"}}]`,
    text: 'Sure.\n',
  },
  {
    format: 'qwen3-coder',
    raw: 'Sure.<tool_call>\n<function=get_weather>\n<parameter=city>\nKöln, "am Rhein"\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>',
  },
  {
    format: 'seed-oss',
    raw: 'Sure.<seed:tool_call>\n<function=get_weather>\n<parameter=city>Köln, "am Rhein"</parameter>\n<parameter=days>3</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>',
  },
  {
    format: 'minicpm',
    raw: 'Sure.<function name="get_weather"><param name="city">Köln, "am Rhein"</param><param name="days">3</param></function>\n<function name="now"></function>',
  },
  {
    format: 'glm',
    raw: 'Sure.<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Köln, "am Rhein"</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>',
  },
  {
    format: 'hunyuan',
    raw: 'Sure.<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Köln, "am Rhein"</arg_value:opensource>\n<arg_key:opensource>days</arg_key:opensource>\n<arg_value:opensource>3</arg_value:opensource>\n</tool_call:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>',
  },
  {
    format: 'minimax-m2',
    raw: 'Sure.<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Köln, "am Rhein"</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>',
  },
  {
    format: 'minimax-m3',
    raw: 'Sure.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Köln, "am Rhein"]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name="now">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  },
  {
    format: 'deepseek-dsml',
    raw: 'Sure.<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Köln, "am Rhein"</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="now">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
  },
  {
    format: 'deepseek',
    raw: `Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n\`\`\`json\n{}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    format: 'deepseek-v3.1',
    raw: `Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${json}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    format: 'kimi-k2',
    raw: `Sure.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>${json}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`,
  },
  {
    format: 'kimi-k3',
    raw: '<|open|>response<|sep|>Sure.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Köln, "am Rhein"<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="now" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>',
  },
  {
    format: 'solar',
    raw: `<|begin|>assistant<|content|>Sure.<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>get_weather<|tool_call:args|>${json}<|tool_call:end|><|tool_call:begin|>a2<|tool_call:name|>now<|tool_call:args|>{}<|tool_call:end|><|calls|>`,
  },
  {
    format: 'gemma4',
    raw: 'Sure.<|tool_call>call:get_weather{city:<|"|>Köln, "am Rhein"<|"|>,days:3}<tool_call|><|tool_call>call:now{}<tool_call|>',
  },
  {
    format: 'function-gemma',
    raw: 'Sure.<start_function_call>call:get_weather{city:<escape>Köln, "am Rhein"<escape>,days:3}<end_function_call><start_function_call>call:now{}<end_function_call>',
  },
  { format: 'lfm2', raw: 'Sure.<|tool_call_start|>[get_weather(city=\'Köln, "am Rhein"\', days=3), now()]<|tool_call_end|>' },
  { format: 'olmo', raw: 'Sure.<function_calls>get_weather(city="Köln, \\"am Rhein\\"", days=3)\nnow()</function_calls>' },
  { format: 'pythonic', raw: '[get_weather(city="Köln, \\"am Rhein\\"", days=3), now()]', text: '' },
  { format: 'llama4', raw: 'Sure.<|python_start|>[get_weather(city="Köln, \\"am Rhein\\"", days=3), now()]<|python_end|>' },
  {
    format: 'llama3',
    raw: `Sure.<|python_tag|>{"type": "function", "name": "get_weather", "parameters": ${json}}; {"name": "now", "parameters": {}}`,
  },
  { format: 'functionary-v3.1', raw: `Sure.<function=get_weather>${json}</function><function=now>{}</function>` },
  { format: 'functionary-v3.2', raw: `all\nSure.>>>get_weather\n${json}>>>now\n{}` },
  {
    format: 'mistral',
    raw: `Sure.[TOOL_CALLS][{"name": "get_weather", "arguments": ${json}, "id": "abcdefghi"}, {"name": "now", "arguments": {}, "id": "abcdefghj"}]`,
  },
  { format: 'mistral-named', raw: `Sure.[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]${json}[TOOL_CALLS]now[ARGS]{}` },
  {
    format: 'command-r7b',
    raw: `<|START_RESPONSE|>Sure.<|END_RESPONSE|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": ${json}},\n    {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>`,
  },
  {
    format: 'command-r',
    raw: `Sure.\nAction:\n\`\`\`json\n[\n    {"tool_name": "get_weather", "parameters": ${json}},\n    {"tool_name": "now", "parameters": {}}\n]\n\`\`\``,
    text: 'Sure.\n',
  },
  { format: 'apertus', raw: `Sure.<|tools_prefix|>[{"get_weather": ${json}}, {"now": {}}]<|tools_suffix|>` },
  {
    format: 'nemotron',
    raw: `Sure.<TOOLCALL>[{"name": "get_weather", "arguments": ${json}}, {"name": "now", "arguments": {}}]</TOOLCALL>`,
  },
  {
    format: 'granite',
    raw: `Sure.<|tool_call|>[{"name": "get_weather", "arguments": ${json}}, {"name": "now", "arguments": {}}]`,
  },
  {
    format: 'tool-calls-tag',
    raw: `Sure.<tool_calls>\n{"name": "get_weather", "arguments": ${json}}\n{"name": "now", "arguments": {}}\n</tool_calls>`,
  },
  { format: 'functools', raw: `Sure.functools[{"name": "get_weather", "arguments": ${json}}, {"name": "now", "arguments": {}}]` },
  {
    format: 'gigachat',
    raw: `Sure.<|function_call|>{"name": "get_weather", "arguments": ${json}}<|function_call|>{"name": "now", "arguments": {}}`,
  },
  {
    format: 'gigachat-header',
    raw: `Sure.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "get_weather", "arguments": ${json}}<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "now", "arguments": {}}`,
  },
  {
    format: 'harmony',
    raw: `<|channel|>commentary<|message|>Sure.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${json}<|call|><|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}<|call|>`,
  },
  {
    format: 'glimmer',
    raw: '<|message|>Sure.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Köln, "am Rhein"</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=now<|message|><atem:function_calls>\n<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls><|eot|>',
  },
  {
    format: 'step3',
    raw: 'Sure.<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n<steptml:parameter name="city">Köln, "am Rhein"</steptml:parameter>\n<steptml:parameter name="days">3</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="now">\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>',
  },
  {
    format: 'hunyuan-preview',
    raw: 'Sure.<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Köln, "am Rhein"</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>',
  },
  {
    format: 'inkling',
    raw: `<|content_text|>Sure.<|end_message|><|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": ${json}}<|end_message|><|message_model|>now<|content_invoke_tool_json|>{"name": "now", "args": {}}<|end_message|><|content_model_end_sampling|>`,
  },
  {
    format: 'internlm',
    raw: `Sure.<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": ${json}}<|action_end|>\n<|action_start|><|plugin|>\n{"name": "now", "parameters": {}}<|action_end|>\n`,
  },
  {
    format: 'longcat',
    raw: `Sure.<longcat_tool_call>{"name": "get_weather", "arguments": ${json}}</longcat_tool_call>\n<longcat_tool_call>{"name": "now", "arguments": {}}</longcat_tool_call>`,
  },
  {
    format: 'longcat-pairs',
    raw: 'Sure.<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>Köln, "am Rhein"</longcat_arg_value>\n<longcat_arg_key>days</longcat_arg_key>\n<longcat_arg_value>3</longcat_arg_value>\n</longcat_tool_call>\n<longcat_tool_call>now\n</longcat_tool_call>',
  },
  {
    format: 'laguna',
    raw: `Sure.\n<tool_call>get_weather\n${json}\n</tool_call>\n{"name": "now", "arguments": {}}`,
    text: 'Sure.\n',
  },
  {
    format: 'granite-20b',
    raw: `Sure.<function_call> {"name": "get_weather", "arguments": ${json}} <function_call> {"name": "now", "arguments": {}}`,
  },
  { format: 'glm4', raw: `Sure.\nget_weather\n${json}\nnow\n{}`, text: 'Sure.\n' },
  { format: 'react', raw: `Sure.\nAction: get_weather\nAction Input: ${json}\nAction: now\nAction Input: {}`, text: 'Sure.\n' },
]

/** Formats that nothing but their name tells from others, or from text. */
const onlyByName = new Set(['command-r', 'functionary-v3.2', 'glimmer', 'glm4', 'hunyuan-preview'])
/** The name of a tool is the first thing of a call: one that nobody declared is text until more has come. */
const beginsWithName = new Set(['glm4', 'inkling'])

describe.each(answers)('$format', ({ format, raw, text = 'Sure.' }) => {
  const options = { format: { toolFormat: format, startsInReasoning: false }, tools }

  test('two calls after text are read, for every split', () => {
    for (const chunks of chunkings(raw, { rounds: 6 })) {
      const result = parseOutput(options, chunks)
      expect(result.text).toBe(text)
      expect(result.calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) }))).toEqual([rain, now])
    }
  })

  test(`is${onlyByName.has(format) ? ' not' : ''} read where the format is not known`, () => {
    const unknown = { ...options, format: { toolFormat: 'any', startsInReasoning: false } }
    for (const chunks of [[raw], [...raw]]) {
      const { calls } = parseOutput(unknown, chunks)
      const read = calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) }))
      expect(read).toEqual(onlyByName.has(format) ? [] : [rain, now])
    }
  })

  test('only the first call is made if one is allowed', () => {
    const { calls, text: left } = parseOutput({ ...options, parallelToolCalls: false }, [...raw])
    expect(calls.map(({ name }) => name)).toEqual(['get_weather'])
    expect(left).toBe(text)
  })

  test('calls of undeclared tools are text', () => {
    const { calls, text: left } = parseOutput({ ...options, tools: [{ name: 'other' }] }, [...raw])
    expect(calls).toEqual([])
    expect(left).toContain('Köln')
  })

  if (!beginsWithName.has(format)) {
    test('calls of undeclared tools are calls for who answers calls of any name', () => {
      for (const chunks of [[raw], [...raw]]) {
        const { calls, text: left } = parseOutput({ ...options, tools: [{ name: 'other' }], otherTools: [] }, chunks)
        expect({ left, names: calls.map(({ name }) => name) }).toEqual({ left: text, names: ['get_weather', 'now'] })
      }
    })
  }

  test('calls of tools that the prompt does not show are calls', () => {
    for (const chunks of [[raw], [...raw]]) {
      const { calls, text: left } = parseOutput({ ...options, tools: [], otherTools: tools }, chunks)
      const read = calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) }))
      expect({ left, read }).toEqual({ left: text, read: [rain, now] })
    }
  })

  test('a required call is read back as written', () => {
    const required = findToolFormat(format)?.describeCalls(tools, { parallel: true })
    expect(required?.calls.map(({ name }) => name)).toEqual(['get_weather', 'now'])
    const written = writeRequired(required as RequiredCalls)
    for (const chunks of [[written], [...written]]) {
      const { calls, text: left } = parseOutput(options, chunks)
      expect({ left, calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })) }).toEqual({
        left: '',
        calls:
          required?.separator === undefined
            ? [{ name: 'get_weather', arguments: requiredArguments }]
            : [{ name: 'get_weather', arguments: requiredArguments }, now],
      })
    }
  })
})

const requiredArguments = { city: 'a "b" <c', days: 7, options: { metric: true } }

/** The text of a model that is constrained to required calls. */
function writeRequired({ prefix, suffix, separator, calls }: RequiredCalls): string {
  const values: unknown[] = [requiredArguments.city, requiredArguments.days, requiredArguments.options]
  const write =
    (position: number) =>
    (piece: CallPiece): string => {
      switch (piece.type) {
        case 'text':
          return piece.text
        case 'raw-text':
          return String(values.shift())
        case 'position':
          return String(piece.first + position)
        case 'json':
          if (piece.schema === tools[0]?.parameters) return JSON.stringify(requiredArguments)
          if (piece.schema === tools[1]?.parameters) return '{}'
          return JSON.stringify(values.shift())
        case 'optional':
          return piece.pieces.map(write(position)).join('')
      }
    }
  const written = calls.map(({ pieces }, position) => pieces.map(write(position)).join(''))
  return prefix + (separator === undefined ? written[0] : written.join(separator)) + suffix
}

describe('recognising formats', () => {
  test('every format is tested here', () => {
    const listed = new Set(answers.map(({ format }) => format))
    expect(toolFormatNames.filter((name) => !listed.has(name) && name !== 'xml')).toEqual([])
  })

  test('the documentation lists every name', () => {
    const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
    const listed = [...read('docs/reference/tool-formats.md').matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name)
    expect(listed.filter((name) => name !== 'toolFormat')).toEqual([...toolFormatNames].sort())
  })

  test.each([
    ['<tool_call>\n{"name": <function-name>}', 'hermes'],
    ["{%- set HYTK = ':opensource' %}<tool_sep{}> <arg_key{}>", 'hunyuan'],
    ["{%- set HYTK = '' %}<tool_sep{}> <arg_key{}>", 'hunyuan-preview'],
    ['<tool_calls><tool_call>{{ name }}<tool_sep><arg_key>', 'hunyuan-preview'],
    ['<tool_calls_begin><steptml:invoke name="', 'step3'],
    ["'<|action_start|><|plugin|>'", 'internlm'],
    ["'<|message_model|>' + name + '<|content_invoke_tool_json|>'", 'inkling'],
    ['<longcat_tool_call>{"name": <function-name>}', 'longcat'],
    ['<longcat_tool_call>{name}<longcat_arg_key>', 'longcat-pairs'],
    ['<assistant><tool_call>{name}<arg_key>', 'laguna'],
    ["'<function_call> ' + call | tojson", 'granite-20b'],
    ['<tool_call>\n<function=example>\n<parameter=x>', 'qwen3-coder'],
    ['<tool_call>{name}<arg_key>{k}</arg_key>', 'glm'],
    ["{{ '[TOOL_CALLS]' + name + '[ARGS]' }}", 'mistral-named'],
    ["{{ '[TOOL_CALLS] [' }}", 'mistral'],
    ["'<|start|>assistant<|channel|>final<|message|>'", 'harmony'],
    ['<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>x\\n```json', 'deepseek'],
    ['<|im_start|>{{ role }}', 'json'],
  ])('%s is %s', (template, name) => {
    expect(recogniseToolFormat(template)).toBe(name)
  })

  test('a format has special tokens, and an unknown name has none', () => {
    expect(visibleTokens('mistral')).toContain('[TOOL_CALLS]')
    expect(visibleTokens('no-such-format')).toEqual([])
  })
})

describe('recognising reasoning', () => {
  test.each([
    ["'<think>\\n' + reasoning + '\\n</think>\\n\\n'", { open: '<think>\n', close: '\n</think>\n\n' }],
    ["content.split('</think>')[-1].lstrip('\\n')", { open: '<think>', close: '</think>\n\n' }],
    ["content.split('</think>')[-1]", { open: '<think>', close: '</think>' }],
    ['<seed:think>', { open: '<seed:think>', close: '</seed:think>\n' }],
    ['[THINK]…[/THINK]', { open: '[THINK]', close: '[/THINK]' }],
    ["'<|content_thinking|>'", { open: '<|content_thinking|>', close: '<|end_message|>' }],
    ["'<longcat_think>'", { open: '<longcat_think>', close: '</longcat_think>' }],
    ["{%- set HYTK = ':opensource' %}<think{}>", { open: '<think:opensource>', close: '</think:opensource>' }],
    ["{%- set HYTK = '' %}<think{}>", { open: '<think>', close: '</think>' }],
    ['plain', undefined],
  ])('%s', (template, reasoning) => {
    expect(recogniseReasoning(template)).toEqual(reasoning)
  })
})

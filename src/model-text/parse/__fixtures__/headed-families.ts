import { type Family, json, members, type Value, type WrittenCall } from './output-case.ts'

const weather = '{"city": "Oslo"}'
const oslo = [{ name: 'get_weather', arguments: weather }]
const noTag = 'no tag says where reasoning ends'

const deepseekCall = (call: WrittenCall) =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${call.name}\n\`\`\`json\n${json(call.arguments)}\n\`\`\`<｜tool▁call▁end｜>`

/** Gemma's own spelling of a value, with `quote` on both sides of a text. */
function gemma(value: Value, quote: string): string {
  if (typeof value === 'string') return quote + value + quote
  if (Array.isArray(value)) return `[${value.map((item) => gemma(item, quote)).join(',')}]`
  if (typeof value !== 'object' || value === null || 'digits' in value) return json(value)
  return `{${members(value)
    .map(([key, member]) => `${key}:${gemma(member, quote)}`)
    .join(',')}}`
}

/** Families whose calls have a head with the name, and the arguments behind it. */
export const headedFamilies: readonly Family[] = [
  {
    format: 'deepseek',
    write: (calls) => `<｜tool▁calls▁begin｜>${calls.map(deepseekCall).join('\n')}<｜tool▁calls▁end｜>`,
    marks: ['<｜tool▁call▁end｜>', '```', '</think>'],
    cases: [
      {
        name: 'another spelling of the block',
        raw: `<｜tool_calls_begin｜>${deepseekCall({ name: 'now', arguments: {} })}<｜tool▁calls▁end｜>`,
        calls: [{ name: 'now', arguments: '{}' }],
      },
      {
        name: 'no fence',
        raw: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n${weather}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
        calls: oslo,
      },
      { name: 'no block', raw: deepseekCall({ name: 'get_weather', arguments: { city: 'Oslo' } }), calls: oslo },
    ],
  },
  {
    format: 'deepseek-v3.1',
    write: (calls) =>
      `<｜tool▁calls▁begin｜>${calls.map((call) => `<｜tool▁call▁begin｜>${call.name}<｜tool▁sep｜>${json(call.arguments)}<｜tool▁call▁end｜>`).join('')}<｜tool▁calls▁end｜>`,
    marks: ['<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>', '</think>'],
    cases: [
      { name: 'no block', raw: `<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${weather}<｜tool▁call▁end｜>`, calls: oslo },
      { name: 'no end', raw: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${weather}`, calls: oslo },
    ],
  },
  {
    format: 'kimi-k2',
    write: (calls) =>
      `<|tool_calls_section_begin|>${calls
        .map(
          (call, index) =>
            `<|tool_call_begin|>functions.${call.name}:${index}<|tool_call_argument_begin|>${json(call.arguments)}<|tool_call_end|>`,
        )
        .join('')}<|tool_calls_section_end|>`,
    marks: ['<|tool_call_end|>', '<|tool_calls_section_end|>', '</think>'],
    cases: [
      ...['get_weather_3', 'functions.get_weather.0', 'functions.get_weather0', 'functions_get_weather_0', 'get_weather:0'].map(
        (id) => ({
          name: `the id ${id}`,
          raw: `<|tool_calls_section_begin|><|tool_call_begin|>${id}<|tool_call_argument_begin|>${weather}<|tool_call_end|><|tool_calls_section_end|>`,
          calls: oslo,
        }),
      ),
      {
        name: 'the id is the head',
        raw: `<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:4<|tool_call_argument_begin|>${weather}<|tool_call_end|><|tool_calls_section_end|>`,
        calls: [{ name: 'get_weather', arguments: weather, id: 'functions.get_weather:4' }],
      },
      {
        name: 'a name without its prefix',
        raw: `<|tool_calls_section_begin|><|tool_call_begin|>get_weather:0<|tool_call_argument_begin|>${weather}<|tool_call_end|><|tool_calls_section_end|>`,
        calls: oslo,
      },
      {
        name: 'a number in place of the name',
        raw: `<|tool_calls_section_begin|><|tool_call_begin|>3<|tool_call_argument_begin|>${weather}<|tool_call_end|><|tool_calls_section_end|>`,
        calls: oslo,
      },
      {
        name: 'a number for each of two calls',
        raw: '<|tool_calls_section_begin|><|tool_call_begin|>0<|tool_call_argument_begin|>{"query": "a"}<|tool_call_end|><|tool_call_begin|>call00001<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
        calls: [
          { name: 'search', arguments: '{"query":"a"}' },
          { name: 'now', arguments: '{}' },
        ],
      },
      {
        name: 'a number, with arguments of no tool',
        raw: '<|tool_call_begin|>0<|tool_call_argument_begin|>{"planet": "Mars"}<|tool_call_end|>',
        text: '<|tool_call_begin|>0<|tool_call_argument_begin|>{"planet": "Mars"}<|tool_call_end|>',
      },
      {
        name: 'the section in the singular',
        raw: `<|tool_call_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>${weather}<|tool_call_end|><|tool_call_section_end|>`,
        calls: oslo,
      },
      {
        name: 'spaces around the parts',
        raw: `<|tool_calls_section_begin|>\n<|tool_call_begin|> functions.get_weather:0 <|tool_call_argument_begin|> ${weather} <|tool_call_end|>\n<|tool_calls_section_end|>`,
        calls: oslo,
      },
    ],
  },
  {
    format: 'solar',
    reasoning: { open: '<|think|>', close: '<|end|>' },
    write: (calls) =>
      `<|tool_calls|>${calls
        .map(
          (call, index) =>
            `<|tool_call:begin|>a${index}<|tool_call:name|>${call.name}<|tool_call:args|>${json(call.arguments)}<|tool_call:end|>`,
        )
        .join('')}<|calls|>`,
    answer({ thought, text = '', calls, after = '' }) {
      const messages = [
        ...(thought === undefined ? [] : [`<|think|>${thought}<|end|>`]),
        ...(text === '' ? [] : [`<|content|>${text}<|end|>`]),
        ...(calls.length === 0 ? [] : [this.write(calls)]),
        ...(after === '' ? [] : [`<|content|>${after}<|end|>`]),
      ]
      return messages.join('<|begin|>assistant')
    },
    marks: ['<|tool_call:end|>', '<|calls|>', '<|end|>'],
    except: { 'call in open reasoning': 'only the end of a message ends it', 'unknown tool': 'its delimiters are no text' },
    cases: [
      {
        name: 'the id that the model chose',
        raw: `<|tool_calls|><|tool_call:begin|>xyz9<|tool_call:name|>get_weather<|tool_call:args|>${weather}<|tool_call:end|><|calls|>`,
        calls: [{ name: 'get_weather', arguments: weather, id: 'xyz9' }],
      },
      { name: 'text that is flushed', raw: '<|content|>Hi.<|flush|>', text: 'Hi.' },
    ],
  },
  {
    format: 'mistral',
    reasoning: { open: '[THINK]', close: '[/THINK]' },
    write: (calls) =>
      `[TOOL_CALLS] [${calls.map((call, index) => `{"name": "${call.name}", "arguments": ${json(call.arguments)}, "id": "abcdefgh${index}"}`).join(', ')}]`,
    marks: ['[TOOL_CALLS]', '</s>', '}]'],
    cases: [
      {
        name: 'the id at the end',
        raw: `[TOOL_CALLS][{"name": "get_weather", "arguments": ${weather}, "id": "123456789"}]`,
        calls: [{ name: 'get_weather', arguments: weather, id: '123456789' }],
      },
      { name: 'no id', raw: `[TOOL_CALLS][{"name": "get_weather", "arguments": ${weather}}]`, calls: oslo },
      { name: 'one object', raw: `[TOOL_CALLS]{"name": "get_weather", "arguments": ${weather}}`, calls: oslo },
      { name: 'the newer spelling', raw: `[TOOL_CALLS]get_weather[ARGS]${weather}`, calls: oslo },
    ],
  },
  {
    format: 'mistral-named',
    reasoning: { open: '[THINK]', close: '[/THINK]' },
    write: (calls) => calls.map((call) => `[TOOL_CALLS]${call.name}[ARGS]${json(call.arguments)}`).join(''),
    marks: ['[TOOL_CALLS]', '[ARGS]', '[/THINK]'],
    cases: [
      {
        name: 'an id',
        raw: `[TOOL_CALLS]get_weather[CALL_ID]123456789[ARGS]${weather}`,
        calls: [{ name: 'get_weather', arguments: weather, id: '123456789' }],
      },
      { name: 'no tag before the arguments', raw: `[TOOL_CALLS]get_weather${weather}`, calls: oslo },
      { name: 'the older spelling', raw: `[TOOL_CALLS][{"name": "get_weather", "arguments": ${weather}}]`, calls: oslo },
      { name: 'the tag alone', raw: 'Calls begin with [TOOL_CALLS] there.', text: 'Calls begin with [TOOL_CALLS] there.' },
    ],
  },
  {
    format: 'gemma4',
    reasoning: { open: '<|channel>thought\n', close: '<channel|>' },
    write: (calls) => calls.map((call) => `<|tool_call>call:${call.name}${gemma(call.arguments, '<|"|>')}<tool_call|>`).join(''),
    marks: ['<tool_call|>', '}', '"', ',days:3'],
    cases: [
      { name: 'quotes of JSON', raw: `<|tool_call>call:get_weather{"city": "Oslo"}<tool_call|>`, calls: oslo },
      { name: 'no end tag', raw: '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}', calls: oslo },
      { name: 'an unpaired channel tag', raw: 'Hi.<channel|>', text: 'Hi.' },
    ],
  },
  {
    format: 'function-gemma',
    write: (calls) =>
      calls
        .map((call) => `<start_function_call>call:${call.name}${gemma(call.arguments, '<escape>')}<end_function_call>`)
        .join(''),
    marks: ['<end_function_call>', '}', '"'],
    cases: [
      { name: 'no end tag', raw: '<start_function_call>call:get_weather{city:<escape>Oslo<escape>}', calls: oslo },
      { name: 'quotes of JSON', raw: '<start_function_call>call:get_weather{city:"Oslo"}<end_function_call>', calls: oslo },
    ],
  },
  {
    format: 'functionary-v3.1',
    write: (calls) => calls.map((call) => `<function=${call.name}>${json(call.arguments)}</function>`).join(''),
    marks: ['</function>', '<function=', '<|eom_id|>'],
    except: { 'call in open reasoning': 'the tag occurs in prose' },
    cases: [
      {
        name: 'a line break between calls',
        raw: `<function=get_weather>${weather}</function>\n<function=now>{}</function>`,
        calls: [...oslo, { name: 'now', arguments: '{}' }],
      },
      { name: 'no end tag', raw: `<function=get_weather>${weather}`, calls: oslo },
      { name: 'a mentioned tag', raw: 'Use <function=NAME> there.', text: 'Use <function=NAME> there.' },
    ],
  },
  {
    format: 'functionary-v3.2',
    namesFirst: true,
    write: (calls) => calls.map((call) => `${call.name}\n${json(call.arguments)}`).join('>>>'),
    answer: ({ thought, text = '', calls, after = '' }) =>
      (thought === undefined ? '' : `<think>\n${thought}\n</think>\n\n`) +
      [
        ...(text === '' ? [] : [`all\n${text}`]),
        ...calls.map((call) => `${call.name}\n${json(call.arguments)}`),
        ...(after === '' ? [] : [`all\n${after}`]),
      ].join('>>>'),
    marks: ['>>>now\n', '>>>all\n', '<|eot_id|>'],
    except: { 'call in open reasoning': noTag },
    cases: [
      { name: 'text only', raw: 'all\nHi there.', text: 'Hi there.' },
      { name: 'no recipient', raw: 'Hi there.', text: 'Hi there.' },
      { name: 'the recipient repeats the separator', raw: `>>>get_weather\n${weather}`, calls: oslo },
    ],
  },
  {
    format: 'glm4',
    namesFirst: true,
    write: (calls) => calls.map((call) => `${call.name}\n${json(call.arguments)}`).join('\n'),
    ownLine: true,
    marks: ['<|observation|>', 'now\n{}'],
    except: { 'call in open reasoning': noTag },
    cases: [
      { name: 'a name in a sentence', raw: 'The tool get_weather\nneeds a city.', text: 'The tool get_weather\nneeds a city.' },
      { name: 'a name on a line of its own', raw: 'now\nis a tool.', text: 'now\nis a tool.' },
    ],
  },
  {
    format: 'react',
    write: (calls) => calls.map((call) => `Action: ${call.name}\nAction Input: ${json(call.arguments)}`).join('\n'),
    ownLine: true,
    marks: ['Observation:', 'Action: now'],
    except: { 'call in open reasoning': noTag },
    cases: [
      { name: 'quotes around the name', raw: `Action: "get_weather"\nAction Input: ${weather}`, calls: oslo },
      {
        name: 'a fence around the input',
        raw: `Action: get_weather\nAction Input:\n\`\`\`json\n${weather}\n\`\`\``,
        calls: oslo,
      },
      { name: 'no input', raw: 'Action: wait for news.', text: 'Action: wait for news.' },
    ],
  },
]

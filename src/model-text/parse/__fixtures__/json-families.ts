import { type Family, json, type WrittenCall } from './output-case.ts'

const object = ({ name, arguments: values }: WrittenCall) => `{"name": "${name}", "arguments": ${json(values)}}`
const parameters = ({ name, arguments: values }: WrittenCall) => `{"name": "${name}", "parameters": ${json(values)}}`
const list = (calls: readonly WrittenCall[]) => `[${calls.map(object).join(', ')}]`
const weather = '{"city": "Oslo"}'
const oslo = [{ name: 'get_weather', arguments: weather }]
const bareText = 'no tag says where reasoning ends'

/** Families whose calls are JSON objects that hold the name. */
export const jsonFamilies: readonly Family[] = [
  {
    format: 'hermes',
    write: (calls) => calls.map((call) => `<tool_call>\n${object(call)}\n</tool_call>`).join('\n'),
    marks: ['</tool_call>', '<tool_call>', '```', '</think>'],
    cases: [
      { name: 'without line breaks', raw: `<tool_call>{"name":"get_weather","arguments":${weather}}</tool_call>`, calls: oslo },
      { name: 'arguments first', raw: `<tool_call>{"arguments": ${weather}, "name": "get_weather"}</tool_call>`, calls: oslo },
      {
        name: 'arguments as a string of JSON',
        raw: '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
        calls: oslo,
      },
      {
        name: 'arguments that are null',
        raw: '<tool_call>{"name": "now", "arguments": null}</tool_call>',
        calls: [{ name: 'now', arguments: '{}' }],
      },
      { name: 'no arguments at all', raw: '<tool_call>{"name": "now"}</tool_call>', calls: [{ name: 'now', arguments: '{}' }] },
      {
        name: 'an id',
        raw: `<tool_call>{"id": "c7", "name": "get_weather", "arguments": ${weather}}</tool_call>`,
        calls: [{ name: 'get_weather', arguments: weather, id: 'c7' }],
      },
      {
        name: 'escapes of letters',
        raw: '<tool_call>{"name": "search", "arguments": {"query": "\\u00e9\\ud83d\\ude00\\u2028\\/"}}</tool_call>',
        calls: [{ name: 'search', arguments: '{"query":"é😀\u2028/"}' }],
      },
      {
        name: 'a tag that no call follows',
        raw: 'The tag <tool_call> begins a call.',
        text: 'The tag <tool_call> begins a call.',
      },
      { name: 'no end tag', raw: `<tool_call>\n{"name": "get_weather", "arguments": ${weather}}`, calls: oslo },
    ],
  },
  {
    format: 'json',
    write: (calls) => list(calls),
    marks: ['}]', '```', '</tool_call>'],
    except: { 'call in open reasoning': bareText, 'text before': 'brackets count in their own line or after white space' },
    cases: [
      { name: 'one object', raw: `{"name": "get_weather", "arguments": ${weather}}`, calls: oslo },
      { name: 'a fence', raw: `\`\`\`json\n{"name": "get_weather", "arguments": ${weather}}\n\`\`\``, calls: oslo },
      {
        name: 'inside function',
        raw: `{"type": "function", "function": {"name": "get_weather", "arguments": ${weather}}}`,
        calls: oslo,
      },
      { name: 'an expression', raw: 'get_weather(city="Oslo")', calls: oslo },
      { name: 'a list of expressions', raw: '[get_weather(city="Oslo")]', calls: oslo },
      {
        name: 'an expression within a sentence',
        raw: 'I would call get_weather(city="Oslo") here.',
        text: 'I would call get_weather(city="Oslo") here.',
      },
      { name: 'another object', raw: '{"city": "Oslo", "days": 2}', text: '{"city": "Oslo", "days": 2}' },
      { name: 'a list of numbers', raw: '[1, 2, 3]', text: '[1, 2, 3]' },
    ],
  },
  {
    format: 'tool-calls-tag',
    write: (calls) => `<tool_calls>\n${calls.map(object).join('\n')}\n</tool_calls>`,
    marks: ['</tool_calls>', '<tool_calls>'],
    cases: [
      { name: 'a list', raw: `<tool_calls>[{"name": "get_weather", "arguments": ${weather}}]</tool_calls>`, calls: oslo },
      { name: 'no end tag', raw: `<tool_calls>\n{"name": "get_weather", "arguments": ${weather}}\n`, calls: oslo },
      { name: 'a tag that no call follows', raw: 'Put it in <tool_calls> please.', text: 'Put it in <tool_calls> please.' },
    ],
  },
  {
    format: 'nemotron',
    write: (calls) => `<TOOLCALL>${list(calls)}</TOOLCALL>`,
    marks: ['</TOOLCALL>', '<TOOLCALL>'],
    cases: [
      {
        name: 'spaces inside the tags',
        raw: `<TOOLCALL> [ {"name": "get_weather", "arguments": ${weather}} ] </TOOLCALL>`,
        calls: oslo,
      },
      { name: 'no end tag', raw: `<TOOLCALL>[{"name": "get_weather", "arguments": ${weather}}]`, calls: oslo },
    ],
  },
  {
    format: 'granite',
    write: (calls) => `<|tool_call|>${list(calls)}`,
    marks: ['<|tool_call|>', '<|end_of_text|>'],
    cases: [
      { name: 'the tag without bars', raw: `<tool_call>[{"name": "get_weather", "arguments": ${weather}}]`, calls: oslo },
      { name: 'a response tag around text', raw: '<response>Hi.</response>', text: 'Hi.' },
      { name: 'an end tag', raw: `<|tool_call|>[{"name": "get_weather", "arguments": ${weather}}]<|/tool_call|>`, calls: oslo },
    ],
  },
  {
    format: 'granite-20b',
    write: (calls) => calls.map((call) => `<function_call> ${object(call)}`).join(' '),
    marks: ['<function_call>', '</function_call>'],
    cases: [
      {
        name: 'calls without a space',
        raw: `<function_call>{"name":"get_weather","arguments":${weather}}<function_call>{"name":"now","arguments":{}}`,
        calls: [...oslo, { name: 'now', arguments: '{}' }],
      },
      { name: 'a tag that no call follows', raw: 'A <function_call> is a tag.', text: 'A <function_call> is a tag.' },
    ],
  },
  {
    format: 'functools',
    write: (calls) => `functools${list(calls)}`,
    marks: ['functools[', ']'],
    cases: [
      { name: 'the word alone', raw: 'Use functools.reduce here.', text: 'Use functools.reduce here.' },
      { name: 'a space in front of the list', raw: `functools [{"name": "get_weather", "arguments": ${weather}}]`, calls: oslo },
    ],
  },
  {
    format: 'gigachat',
    write: (calls) => calls.map((call) => `<|function_call|>${object(call)}`).join(''),
    marks: ['<|function_call|>', '<|message_sep|>'],
    cases: [
      {
        name: 'a line break after the tag',
        raw: `<|function_call|>\n{"name": "get_weather", "arguments": ${weather}}`,
        calls: oslo,
      },
    ],
  },
  {
    format: 'gigachat-header',
    write: (calls) => calls.map((call) => `<|message_sep|>\n\nfunction call<|role_sep|>\n${object(call)}`).join(''),
    marks: ['<|message_sep|>', '<|role_sep|>'],
    except: { 'code span': 'its tag has an empty line, and a span has none' },
    cases: [
      {
        name: 'the header without its separator',
        raw: `function call<|role_sep|>\n{"name": "get_weather", "arguments": ${weather}}`,
        calls: oslo,
      },
    ],
  },
  {
    format: 'command-r7b',
    reasoning: { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
    write: (calls) =>
      `<|START_ACTION|>[\n${calls
        .map(
          (call, index) => `    {"tool_call_id": "${index}", "tool_name": "${call.name}", "parameters": ${json(call.arguments)}}`,
        )
        .join(',\n')}\n]<|END_ACTION|>`,
    marks: ['<|END_ACTION|>', '<|END_RESPONSE|>'],
    cases: [
      {
        name: 'the ids',
        raw: `<|START_ACTION|>[{"tool_call_id": "7", "tool_name": "get_weather", "parameters": ${weather}}]<|END_ACTION|>`,
        calls: [{ name: 'get_weather', arguments: weather, id: '7' }],
      },
      { name: 'a response between its tags', raw: '<|START_RESPONSE|>Hi there.<|END_RESPONSE|>', text: 'Hi there.' },
      { name: 'the tags of Command A', raw: '<|START_TEXT|>Hi there.<|END_TEXT|>', text: 'Hi there.' },
    ],
  },
  {
    format: 'command-r',
    write: (calls) =>
      `Action:\n\`\`\`json\n[\n${calls.map((call) => `    {\n        "tool_name": "${call.name}",\n        "parameters": ${json(call.arguments)}\n    }`).join(',\n')}\n]\n\`\`\``,
    ownLine: true,
    marks: ['Action:', '```'],
    except: { 'call in open reasoning': bareText },
    cases: [
      { name: 'the word in a sentence', raw: 'Call to Action: buy now.', text: 'Call to Action: buy now.' },
      { name: 'no fence', raw: 'Action: nothing to do.', text: 'Action: nothing to do.' },
    ],
  },
  {
    format: 'apertus',
    reasoning: { open: '<|inner_prefix|>', close: '<|inner_suffix|>' },
    write: (calls) =>
      `<|tools_prefix|>[${calls.map((call) => `{"${call.name}": ${json(call.arguments)}}`).join(', ')}]<|tools_suffix|>`,
    marks: ['<|tools_suffix|>', '<|inner_suffix|>'],
    cases: [
      { name: 'no end tag', raw: `<|tools_prefix|>[{"get_weather": ${weather}}]`, calls: oslo },
      {
        name: 'line breaks',
        raw: `<|tools_prefix|>[\n{"get_weather": ${weather}},\n{"now": {}}\n]<|tools_suffix|>`,
        calls: [...oslo, { name: 'now', arguments: '{}' }],
      },
    ],
  },
  {
    format: 'internlm',
    write: (calls) => calls.map((call) => `<|action_start|><|plugin|>\n${parameters(call)}<|action_end|>`).join('\n'),
    marks: ['<|action_end|>', '<|plugin|>'],
    cases: [
      {
        name: 'a space between the tags, as Intern S1 writes',
        raw: `<|action_start|> <|plugin|>{"name": "get_weather", "parameters": ${weather}}<|action_end|>`,
        calls: oslo,
      },
      {
        name: 'code for the interpreter',
        raw: '<|action_start|><|interpreter|>\nprint(1)<|action_end|>',
        text: '<|action_start|><|interpreter|>\nprint(1)<|action_end|>',
      },
      {
        name: 'arguments under their other name',
        raw: `<|action_start|><|plugin|>{"name": "get_weather", "arguments": ${weather}}<|action_end|>`,
        calls: oslo,
      },
    ],
  },
  {
    format: 'longcat',
    reasoning: { open: '<longcat_think>', close: '</longcat_think>' },
    write: (calls) => calls.map((call) => `<longcat_tool_call>${object(call)}</longcat_tool_call>`).join('\n'),
    marks: ['</longcat_tool_call>', '<longcat_tool_call>', '</longcat_think>'],
    cases: [
      {
        name: 'line breaks in the tags',
        raw: `<longcat_tool_call>\n{"name": "get_weather", "arguments": ${weather}}\n</longcat_tool_call>`,
        calls: oslo,
      },
      { name: 'no end tag', raw: `<longcat_tool_call>{"name": "get_weather", "arguments": ${weather}}`, calls: oslo },
    ],
  },
  {
    format: 'llama3',
    write: (calls) => calls.map(parameters).join('; '),
    ownLine: true,
    marks: ['<|python_tag|>', '<|eom_id|>', '}; {'],
    except: { 'call in open reasoning': bareText },
    cases: [
      {
        name: 'after its tag',
        raw: `<|python_tag|>{"type": "function", "name": "get_weather", "parameters": ${weather}}`,
        calls: oslo,
      },
      {
        name: 'a built-in tool',
        raw: '<|python_tag|>search.call(query="snow")',
        calls: [{ name: 'search', arguments: '{"query":"snow"}' }],
      },
      { name: 'the function tag', raw: `<function=get_weather>${weather}</function>`, calls: oslo },
      { name: 'an object that is not a call', raw: '{"name": "Ann", "age": 4}', text: '{"name": "Ann", "age": 4}' },
    ],
  },
  {
    format: 'inkling',
    namesFirst: true,
    reasoning: { open: '<|content_thinking|>', close: '<|end_message|>' },
    write: (calls) =>
      calls
        .map(
          (call) =>
            `${call.name}<|content_invoke_tool_json|>{"name": "${call.name}", "args": ${json(call.arguments)}}<|end_message|>`,
        )
        .join('<|message_model|>'),
    answer({ thought, text = '', calls, after = '' }) {
      const said = (words: string) => (words === '' ? [] : [`<|content_text|>${words}<|end_message|>`])
      const messages = [
        ...(thought === undefined ? [] : [`<|content_thinking|>${thought}<|end_message|>`]),
        ...said(text),
        ...(calls.length === 0 ? [] : [this.write(calls)]),
        ...said(after),
      ]
      return `${messages.join('<|message_model|>')}<|content_model_end_sampling|>`
    },
    marks: ['<|end_message|>', '<|message_model|>'],
    except: { 'call in open reasoning': 'only the end of a message ends it', 'unknown tool': 'its delimiters are no text' },
    cases: [
      {
        name: 'a call without a header',
        raw: `<|content_invoke_tool_json|>{"name": "get_weather", "args": ${weather}}<|end_message|>`,
        calls: oslo,
      },
      {
        name: 'the first message repeats its start',
        raw: `<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": ${weather}}<|end_message|>`,
        calls: oslo,
      },
      { name: 'text only', raw: '<|content_text|>Hi there.<|end_message|><|content_model_end_sampling|>', text: 'Hi there.' },
      { name: 'thinking only', raw: '<|content_thinking|>Hm.<|end_message|>', reasoning: 'Hm.' },
    ],
  },
]

import { type Family, members, python, type WrittenCall } from './output-case.ts'

const spell = (call: WrittenCall) =>
  `${call.name}(${members(call.arguments)
    .map(([key, value]) => `${key}=${python(value)}`)
    .join(', ')})`
const list = (calls: readonly WrittenCall[]) => `[${calls.map(spell).join(', ')}]`
const oslo = [{ name: 'get_weather', arguments: '{"city": "Oslo"}' }]
const noTag = 'no tag says where reasoning ends'

/** Families whose calls are expressions of Python. */
export const pythonFamilies: readonly Family[] = [
  {
    format: 'pythonic',
    write: list,
    ownLine: true,
    marks: [')]', '<|eot_id|>', '```'],
    except: { 'call in open reasoning': noTag },
    cases: [
      { name: 'no brackets', raw: 'get_weather(city="Oslo")', calls: oslo },
      { name: 'a value without its name', raw: '[get_weather("Oslo")]', calls: oslo },
      { name: 'all arguments as a dictionary', raw: '[get_weather(**{"city": "Oslo"})]', calls: oslo },
      { name: 'a fence', raw: '```tool_code\nget_weather(city="Oslo")\n```', calls: oslo },
      { name: 'a list of words', raw: '[get_weather, now]', text: '[get_weather, now]' },
      { name: 'a list of numbers', raw: '[1, 2]', text: '[1, 2]' },
    ],
  },
  {
    format: 'llama4',
    write: (calls) => `<|python_start|>${list(calls)}<|python_end|>`,
    marks: ['<|python_end|>', ')]'],
    cases: [
      { name: 'no tags', raw: '[get_weather(city="Oslo")]', calls: oslo },
      {
        name: 'JSON, as Llama 3 writes',
        raw: '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}',
        calls: oslo,
      },
      { name: 'a list in prose', raw: 'Choose one of\n[a, b].', text: 'Choose one of\n[a, b].' },
    ],
  },
  {
    format: 'lfm2',
    write: (calls) => `<|tool_call_start|>${list(calls)}<|tool_call_end|>`,
    marks: ['<|tool_call_end|>', ')]', '</think>'],
    cases: [
      {
        name: 'JSON in a list',
        raw: '<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|tool_call_end|>',
        calls: oslo,
      },
      {
        name: 'JSON alone',
        raw: '<|tool_call_start|>{"name": "get_weather", "arguments": {"city": "Oslo"}}<|tool_call_end|>Done.',
        text: 'Done.',
        calls: oslo,
      },
      {
        name: 'two objects, then text',
        raw: '<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}]<|tool_call_end|>Done.',
        text: 'Done.',
        calls: [...oslo, { name: 'now', arguments: '{}' }],
      },
      { name: 'no brackets', raw: '<|tool_call_start|>get_weather(city="Oslo")<|tool_call_end|>', calls: oslo },
    ],
  },
  {
    format: 'olmo',
    write: (calls) => `<function_calls>\n${calls.map(spell).join('\n')}\n</function_calls>`,
    marks: ['</function_calls>', ')'],
    cases: [
      { name: 'one line', raw: '<function_calls>get_weather(city="Oslo")</function_calls>', calls: oslo },
      {
        name: 'values of JSON',
        raw: '<function_calls>get_weather(city="Oslo", detailed=true)</function_calls>',
        calls: [{ name: 'get_weather', arguments: '{"city":"Oslo","detailed":true}' }],
      },
      { name: 'no end tag', raw: '<function_calls>get_weather(city="Oslo")', calls: oslo },
    ],
  },
]

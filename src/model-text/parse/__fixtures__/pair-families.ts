import { bare, type Family, members, type WrittenCall } from './output-case.ts'

const oslo = [{ name: 'get_weather', arguments: '{"city": "Oslo"}' }]

const pairs = (prefix: string, suffix: string) => (call: WrittenCall) =>
  members(call.arguments)
    .map(
      ([key, value]) =>
        `<${prefix}arg_key${suffix}>${key}</${prefix}arg_key${suffix}>\n<${prefix}arg_value${suffix}>${bare(value)}</${prefix}arg_value${suffix}>\n`,
    )
    .join('')
const glmCall = (call: WrittenCall) => `<tool_call>${call.name}\n${pairs('', '')(call)}</tool_call>`
const hunyuan = (suffix: string) => (calls: readonly WrittenCall[]) =>
  `<tool_calls${suffix}>\n${calls
    .map((call) => `<tool_call${suffix}>${call.name}<tool_sep${suffix}>\n${pairs('', suffix)(call)}</tool_call${suffix}>\n`)
    .join('')}</tool_calls${suffix}>`

/** Families whose calls have a name, and a pair of elements for each argument. */
export const pairFamilies: readonly Family[] = [
  {
    format: 'glm',
    write: (calls) => calls.map(glmCall).join('\n'),
    marks: ['</tool_calls>', '<arg_key>', '</arg_value', '</think>'],
    cases: [
      {
        name: 'without line breaks, as GLM 4.7 writes',
        raw: '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>',
        calls: oslo,
      },
      {
        name: 'a line break inside a value',
        raw: '<tool_call>search<arg_key>query</arg_key><arg_value>\na\n</arg_value></tool_call>',
        calls: [{ name: 'search', arguments: '{"query":"\\na\\n"}' }],
      },
      { name: 'a call without pairs on one line', raw: '<tool_call>now</tool_call>', calls: [{ name: 'now', arguments: '{}' }] },
    ],
  },
  {
    format: 'laguna',
    write: (calls) => calls.map((call) => `<tool_call>${call.name}\n${pairs('', '')(call)}</tool_call>`).join(''),
    marks: ['</tool_calls>', '</arg_value', '</assistant>'],
    cases: [
      { name: 'JSON after the name', raw: '<tool_call>get_weather\n{"city": "Oslo"}</tool_call>', calls: oslo },
      {
        name: 'an object in the tags',
        raw: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        calls: oslo,
      },
      { name: 'an object alone', raw: '{"name": "get_weather", "arguments": {"city": "Oslo"}}', calls: oslo },
      {
        name: 'an object on a line after text',
        raw: 'Sure.\n{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        text: 'Sure.\n',
        calls: oslo,
      },
      {
        name: 'JSON after the name, twice, the first not closed',
        raw: '<tool_call>search\n{"query": "a"}\n<tool_call>search\n{"query": "b"}</tool_call>',
        calls: [
          { name: 'search', arguments: '{"query":"a"}' },
          { name: 'search', arguments: '{"query":"b"}' },
        ],
      },
      { name: 'an object that is data', raw: '{"name": "get_weather", "size": 3}', text: '{"name": "get_weather", "size": 3}' },
    ],
  },
  {
    format: 'hunyuan',
    reasoning: { open: '<think:opensource>', close: '</think:opensource>' },
    write: hunyuan(':opensource'),
    marks: ['</tool_calls:opensource>', '</arg_value:opensource', '</tool_call>'],
    cases: [
      {
        name: 'a call without its block',
        raw: '<tool_call:opensource>get_weather<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo</arg_value:opensource>\n</tool_call:opensource>',
        calls: oslo,
      },
      {
        name: 'JSON after the separator',
        raw: '<tool_calls:opensource><tool_call:opensource>get_weather<tool_sep:opensource>{"city": "Oslo"}</tool_call:opensource></tool_calls:opensource>',
        calls: oslo,
      },
    ],
  },
  {
    format: 'hunyuan-preview',
    write: hunyuan(''),
    marks: ['</tool_calls>', '</arg_value', '<tool_sep>', '</think>'],
    cases: [
      {
        name: 'no line breaks',
        raw: '<tool_calls><tool_call>now<tool_sep></tool_call></tool_calls>',
        calls: [{ name: 'now', arguments: '{}' }],
      },
      {
        name: 'JSON after the separator',
        raw: '<tool_calls><tool_call>get_weather<tool_sep>{"city": "Oslo"}</tool_call></tool_calls>',
        calls: oslo,
      },
      {
        name: 'no separator',
        raw: '<tool_calls>\n<tool_call>now\n</tool_call>\n</tool_calls>',
        calls: [{ name: 'now', arguments: '{}' }],
      },
    ],
  },
  {
    format: 'longcat-pairs',
    reasoning: { open: '<longcat_think>', close: '</longcat_think>' },
    write: (calls) =>
      calls.map((call) => `<longcat_tool_call>${call.name}\n${pairs('longcat_', '')(call)}</longcat_tool_call>`).join('\n'),
    marks: ['</tool_call>', '</longcat_arg_value', '<longcat_arg_key>'],
    cases: [
      {
        name: 'no line breaks',
        raw: '<longcat_tool_call>get_weather<longcat_arg_key>city</longcat_arg_key><longcat_arg_value>Oslo</longcat_arg_value></longcat_tool_call>',
        calls: oslo,
      },
      {
        name: 'the objects of LongCat Chat',
        raw: '<longcat_tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</longcat_tool_call>',
        calls: oslo,
      },
    ],
  },
]

import { bare, type Family, members, python, type Value, type WrittenCall } from './output-case.ts'

const oslo = [{ name: 'get_weather', arguments: '{"city": "Oslo"}' }]

/** `<open key>value<close>` for each argument. */
function elements(call: WrittenCall, spell: (key: string, value: Value) => string, separator = '\n'): string {
  return members(call.arguments)
    .map(([key, value]) => spell(key, value) + separator)
    .join('')
}

const coder = (call: WrittenCall) =>
  `<tool_call>\n<function=${call.name}>\n${elements(call, (key, value) => `<parameter=${key}>\n${bare(value)}\n</parameter>`)}</function>\n</tool_call>`
const invocations = (
  calls: readonly WrittenCall[],
  block: string,
  namespace = '',
  attributes: (value: Value) => string = () => '',
) =>
  `<${block}>\n${calls
    .map(
      (call) =>
        `<${namespace}invoke name="${call.name}">\n${elements(
          call,
          (key, value) => `<${namespace}parameter name="${key}"${attributes(value)}>${bare(value)}</${namespace}parameter>`,
        )}</${namespace}invoke>\n`,
    )
    .join('')}</${block}>`

const mini = ']<]minimax[>['
function miniValue(value: Value): string {
  if (Array.isArray(value)) return value.map((item) => `${mini}<item>${miniValue(item)}${mini}</item>`).join('')
  if (typeof value === 'object' && value !== null && !('digits' in value)) {
    return members(value)
      .map(([key, member]) => `${mini}<${key}>${miniValue(member)}${mini}</${key}>`)
      .join('')
  }
  return bare(value)
}

const weatherElement = '<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>'

/** Families whose arguments are an element each. */
export const elementFamilies: readonly Family[] = [
  ...(['qwen3-coder', 'xml'] as const).map(
    (format): Family => ({
      format,
      write: (calls) => calls.map(coder).join('\n'),
      marks: ['</tool_call>', '<parameter', '</parameter', '</think>'],
      cases: [
        { name: 'no wrapper', raw: weatherElement, calls: oslo },
        { name: 'the start of the wrapper is missing', raw: `${weatherElement}\n</tool_call>`, calls: oslo },
        {
          name: 'everything on one line',
          raw: '<tool_call><function=get_weather><parameter=city>Oslo</parameter></function></tool_call>',
          calls: oslo,
        },
        {
          name: 'a number that the schema says is text',
          raw: '<tool_call>\n<function=search>\n<parameter=query>\n007\n</parameter>\n</function>\n</tool_call>',
          calls: [{ name: 'search', arguments: '{"query":"007"}' }],
        },
        {
          name: 'a boolean in Python',
          raw: '<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=detailed>\nTrue\n</parameter>\n</function>\n</tool_call>',
          calls: [{ name: 'get_weather', arguments: '{"city":"Oslo","detailed":true}' }],
        },
        {
          name: 'an empty value',
          raw: '<tool_call>\n<function=search>\n<parameter=query>\n\n</parameter>\n</function>\n</tool_call>',
          calls: [{ name: 'search', arguments: '{"query":""}' }],
        },
        { name: 'a mentioned element', raw: 'Write <function=NAME> first.', text: 'Write <function=NAME> first.' },
      ],
    }),
  ),
  {
    format: 'seed-oss',
    reasoning: { open: '<seed:think>', close: '</seed:think>\n' },
    write: (calls) =>
      calls
        .map(
          (call) =>
            `<seed:tool_call>\n<function=${call.name}>\n${elements(call, (key, value) => `<parameter=${key}>${bare(value)}</parameter>`)}</function>\n</seed:tool_call>`,
        )
        .join('\n'),
    marks: ['</seed:tool_call>', '</function', '</seed:think>'],
    cases: [
      { name: 'no wrapper', raw: '<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>', calls: oslo },
      {
        name: 'a mentioned tag',
        raw: 'It begins with <seed:tool_call> always.',
        text: 'It begins with <seed:tool_call> always.',
      },
    ],
  },
  {
    format: 'minicpm',
    write: (calls) =>
      calls
        .map(
          (call) =>
            `<function name="${call.name}">${elements(
              call,
              (key, value) => {
                const text = typeof value === 'string' ? value : typeof value === 'object' ? python(value) : bare(value)
                return `<param name="${key}">${typeof value === 'string' && /[<&\n]/.test(value) ? `<![CDATA[${value}]]>` : text}</param>`
              },
              '',
            )}</function>`,
        )
        .join('\n'),
    marks: ['</param>', '</function>', '<param name="days">'],
    except: { 'call in open reasoning': 'its tag occurs in prose' },
    cases: [
      {
        name: 'its long spelling',
        raw: '<function name="get_weather"><parameter name="city">Oslo</parameter></function>',
        calls: oslo,
      },
      {
        name: 'line breaks between the tags',
        raw: '<function name="get_weather">\n<param name="city">Oslo</param>\n</function>',
        calls: oslo,
      },
    ],
  },
  {
    format: 'minimax-m2',
    write: (calls) => invocations(calls, 'minimax:tool_call'),
    marks: ['</minimax:tool_call>', '</invoke>', '</parameter', '</think>'],
    cases: [
      {
        name: 'a call without its block',
        raw: '<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>',
        calls: oslo,
      },
      {
        name: 'two blocks',
        raw: '<minimax:tool_call>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>\n<minimax:tool_call>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>',
        calls: [
          { name: 'now', arguments: '{}' },
          { name: 'now', arguments: '{}' },
        ],
      },
    ],
  },
  {
    format: 'minimax-m3',
    reasoning: { open: '<mm:think>', close: '</mm:think>' },
    write: (calls) =>
      `${mini}<tool_call>\n${calls
        .map((call) => `${mini}<invoke name="${call.name}">${miniValue(call.arguments)}${mini}</invoke>\n`)
        .join('')}${mini}</tool_call>`,
    marks: ['</tool_call>', '</city>', '<]minimax[>'],
    cases: [
      {
        name: 'a list of one',
        raw: `${mini}<tool_call>\n${mini}<invoke name="get_weather">${mini}<city>Oslo${mini}</city>${mini}<tags>${mini}<item>a${mini}</item>${mini}</tags>${mini}</invoke>\n${mini}</tool_call>`,
        calls: [{ name: 'get_weather', arguments: '{"city":"Oslo","tags":["a"]}' }],
      },
      {
        name: 'an object of one',
        raw: `${mini}<tool_call>\n${mini}<invoke name="get_weather">${mini}<city>Oslo${mini}</city>${mini}<options>${mini}<metric>false${mini}</metric>${mini}</options>${mini}</invoke>\n${mini}</tool_call>`,
        calls: [{ name: 'get_weather', arguments: '{"city":"Oslo","options":{"metric":false}}' }],
      },
    ],
  },
  {
    format: 'deepseek-dsml',
    write: (calls) =>
      invocations(calls, '｜DSML｜function_calls', '｜DSML｜', (value) => ` string="${typeof value === 'string'}"`),
    marks: ['</｜DSML｜invoke>', '</｜DSML｜parameter', '</think>'],
    cases: [
      {
        name: 'the block of DeepSeek V4',
        raw: '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        calls: oslo,
      },
      {
        name: 'digits that are text',
        raw: '<｜DSML｜function_calls>\n<｜DSML｜invoke name="search">\n<｜DSML｜parameter name="query" string="true">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        calls: [{ name: 'search', arguments: '{"query":"12"}' }],
      },
    ],
  },
  {
    format: 'step3',
    write: (calls) =>
      `<｜tool_calls_begin｜>\n${calls
        .map(
          (call) =>
            `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="${call.name}">\n${elements(
              call,
              (key, value) => `<steptml:parameter name="${key}">${bare(value)}</steptml:parameter>`,
            )}</steptml:invoke><｜tool_call_end｜>\n`,
        )
        .join('')}<｜tool_calls_end｜>`,
    marks: ['</steptml:invoke>', '</steptml:parameter', '</think>'],
    cases: [
      {
        name: 'no line breaks',
        raw: '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather"><steptml:parameter name="city">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
        calls: oslo,
      },
      {
        name: 'no block',
        raw: '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="now"></steptml:invoke><｜tool_call_end｜>',
        calls: [{ name: 'now', arguments: '{}' }],
      },
      {
        name: 'a less-than sign in a value',
        raw: '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="search"><steptml:parameter name="query">if a < b: c</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
        calls: [{ name: 'search', arguments: '{"query":"if a < b: c"}' }],
      },
    ],
  },
]

import { type Check, calls, deltas, event, finish, has, lacks, type Reply, status, text, textOf, valueAt } from '../checks.ts'
import {
  assistant,
  better,
  chat,
  cleansUp,
  complete,
  differs,
  elsewhere,
  type Group,
  get,
  post,
  prompt,
  type Row,
  refuses,
  result,
  tiny,
  tinyComplete,
  tool,
  user,
  works,
} from '../row.ts'
import { tabbySamplers } from './tabby-samplers.ts'
import { draws, kinds, onlyWords, overrides, positive, preset, unloadPreset } from './tabby-steps.ts'
import { tabbyTemplates } from './tabby-templates.ts'

const oneOf = (schema: object) => ({ max_tokens: 20, ...schema })
const topKeys = (count: number) => (value: object) => Object.keys(value).length === count

const fields: readonly Row[] = [
  works(
    45,
    '`stream_options.include_usage`, also of complete replies',
    chat(
      { stream: true, stream_options: { include_usage: true } },
      event('usage.completion_tokens', 1),
      event('usage.prompt_tokens', positive),
    ),
    chat({ stream: true }, eventsLack('usage.completion_tokens')),
    chat({ stream_options: { include_usage: true } }, has('usage.completion_tokens', 1), has('usage.prompt_tokens', positive)),
  ),
  better(
    46,
    ['`response_format`', 'also `json_object`, which tabbyAPI ignores'],
    tiny(oneOf({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { const: true } } } }), text('true')),
    tiny({ max_tokens: 30, response_format: { type: 'json_object' } }, text(/^\{/)),
  ),
  works(
    47,
    '`n`',
    chat({ n: 2 }, has('choices.0.message.content', 'hello'), has('choices.1.message.content', 'hello'), lacks('choices.2')),
  ),
  differs(
    48,
    ['`best_of`, `echo`, `suffix` and `user` in chats are ignored', 'a value that would change the reply is a 400; others pass'],
    chat({ best_of: 1, echo: false, suffix: null, user: 'x' }, text('hello')),
    refuses(chat({ echo: true }), 'echo'),
    refuses(chat({ best_of: 2 }), 'best_of'),
    refuses(chat({ suffix: 'x' }), 'suffix'),
  ),
  differs(
    49,
    ['names of `max_tokens`; 0 is accepted', 'all its names; 0 is a 400: it is a limit of at least 1 for OpenAI, and -1 is none'],
    ...['max_tokens', 'max_completion_tokens', 'max_length'].map((name) =>
      chat({ messages: [user('a b c d')], [name]: 2 }, text(/^a b\s?$/), finish('length')),
    ),
    chat({ messages: [user('a b c d')], max_tokens: -1 }, text('a b c d'), finish('stop')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  better(
    52,
    ['`stop`', 'also null'],
    chat({ stop: null }, text('hello')),
    chat({ messages: [user('a b c')], stop: 'b' }, text('a '), finish('stop')),
    chat({ messages: [user('a b c')], stop_sequence: ['x', 'c'] }, text('a b ')),
  ),
  works(74, '`json_schema`', tiny(oneOf({ json_schema: { const: 7 } }), text('7'))),
  works(75, '`regex_pattern`', tiny(oneOf({ regex_pattern: 'b{3}-2[0-9]' }), text(/^bbb-2\d$/))),
  works(76, '`grammar_string` in GBNF', tiny(oneOf({ grammar_string: 'root ::= "ab"' }), text('ab'))),
  works('76a', '`grammar_string` in KBNF', tiny(oneOf({ grammar_string: 'start ::= "yes" | "no";' }), text(/^(yes|no)$/))),
  works(77, '`grammar_string` in Lark', tiny(oneOf({ grammar_string: 'start: "yes" | "no"' }), text(/^(yes|no)$/))),
  better(
    78,
    ['a constraint that does not compile is skipped', 'a 400 with the reason'],
    tiny({ regex_pattern: '(' }, status(400, /regex_pattern/)),
  ),
  works(
    79,
    '`logprobs` as a number',
    tiny(
      { logprobs: 3 },
      has('choices.0.logprobs.content.0.top_logprobs', (top: readonly object[]) => top.length === 3),
    ),
    tiny({ logprobs: 0 }, has('choices.0.logprobs', null)),
  ),
  works(
    80,
    '`logprobs` above 5 in completions',
    tinyComplete({ logprobs: 10 }, has('choices.0.logprobs.top_logprobs.0', topKeys(10))),
  ),
  works(
    81,
    '`top_logprobs`',
    tiny(
      { logprobs: true, top_logprobs: 5 },
      has('choices.0.logprobs.content.0.top_logprobs', (top: readonly object[]) => top.length === 5),
    ),
  ),
]

const presets: readonly Row[] = [
  works(
    87,
    'presets: default, forced, additive',
    preset({ preset: 'cold' }, has('selected_preset', 'cold')),
    chat({ messages: [user('a ### b x')], stop: ['x'] }, text(/^a\s?$/)),
    chat({ messages: [user('a x ### b')], stop: ['x'] }, text(/^a\s?$/)),
    draws({ temperature: 1 }, onlyWords('alth')),
    overrides({ top_k: { override: 1 }, max_tokens: { override: 2 } }, has('overrides.top_k.override', 1)),
    draws({ top_k: undefined }, onlyWords('alth')),
    draws({ top_k: 2 }, onlyWords('alth', 'report')),
    chat({ messages: [user('a b c d')] }, text(/^a b\s?$/)),
    cleansUp(unloadPreset()),
    chat({ messages: [user('a ### b x')], stop: ['x'] }, text('a ### b ')),
  ),
  works(
    88,
    'values in the request that switches',
    overrides(
      { top_k: { override: 1 }, temperature: { override: null } },
      has('overrides.top_k.override', 1),
      lacks('overrides.temperature.override'),
    ),
    draws({ top_k: undefined, temperature: 1 }, onlyWords('alth')),
    draws({ top_k: 0, temperature: 1 }, kinds(16)),
    cleansUp(unloadPreset()),
  ),
  differs(
    89,
    ['files of presets', '`sampling.presets` of the configuration'],
    get('/v1/sampling/overrides', has('presets', ['cold'])),
    preset({ preset: 'cold' }, has('overrides.temperature', { override: 0, force: true })),
    preset({ preset: 'unknown' }, status(400, /cold/)),
    cleansUp(unloadPreset()),
  ),
  better(
    90,
    ['unknown fields of a preset', 'a 400 with the name'],
    overrides({ nonsense: { override: 1 } }, status(400, /nonsense/)),
  ),
]

const raw = (content: string, format: string, ...checks: readonly Check[]) =>
  chat({ model: `writes-${format}`, tools: [tool(), tool('g')], messages: [user(JSON.stringify({ raw: content }))] }, ...checks)
const named = { type: 'function', function: { name: 'f' } }
const callOf = (name: string) => `<tool_call>{"name":"${name}","arguments":{}}</tool_call>`
const both = `${callOf('f')}${callOf('g')}`
const bare = '<function=f><parameter=a>1</parameter></function>'
/** The events of a choice: a call, then the reason for its end. */
const callsThenEnds =
  (index: number): Check =>
  ({ events }) => {
    const choices = events.map((one) => valueAt(one, 'choices.0')).filter((choice) => valueAt(choice, 'index') === index)
    const call = choices.findIndex((choice) => valueAt(choice, 'delta.tool_calls.0.function.name') === 'f')
    const end = choices.findIndex((choice) => valueAt(choice, 'finish_reason') === 'tool_calls')
    return call >= 0 && call < end && end === choices.length - 1 ? undefined : `choice ${index}: call ${call}, end ${end}`
  }
const nothing = tool('f', { type: 'object', properties: {} })
const formats: Readonly<Record<string, string>> = {
  'qwen3-coder': '<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
  glm: '<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>',
  'minimax-m2': '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
  mistral: '[TOOL_CALLS][{"name":"f","arguments":{"a":1}}]',
  harmony: '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>',
}

const tools: readonly Row[] = [
  better(
    115,
    [
      'a marker, then a second pass that is constrained',
      'one pass; `toolStrategy: two-pass` constrains a call once it has begun',
    ],
    tiny({ tools: [nothing], max_tokens: 40, tool_choice: 'required' }, calls('f({})')),
  ),
  better(
    116,
    ['a schema of calls for the second pass', 'names and schemas of the declared tools'],
    tiny(
      {
        tools: [tool('f', { type: 'object', properties: { a: { const: 1 } }, required: ['a'], additionalProperties: false })],
        max_tokens: 60,
        tool_choice: 'required',
      },
      calls('f({"a":1})'),
    ),
  ),
  works(
    117,
    'formats xml and auto',
    raw('<tool_call><function=f><parameter=a>1</parameter></function></tool_call>', 'xml', calls('f({"a":1})')),
  ),
  better(
    118,
    ['required and named calls', 'by a grammar'],
    tiny({ tools: [nothing, tool('g')], max_tokens: 40, tool_choice: named }, calls('f({})')),
  ),
  works(
    119,
    'a named choice filters calls',
    raw(both, 'hermes', calls('f({})', 'g({})')),
    chat(
      { model: 'writes-hermes', tools: [tool(), tool('g')], tool_choice: named, messages: [user(JSON.stringify({ raw: both }))] },
      calls('f({})'),
    ),
  ),
  works(
    120,
    '`tool_choice: none`',
    chat(
      { model: 'writes-hermes', tools: [tool()], tool_choice: 'none', messages: [user(JSON.stringify({ raw: callOf('f') }))] },
      lacks('choices.0.message.tool_calls.0'),
      text(/"name":"f"/),
      finish('stop'),
    ),
  ),
  better(
    121,
    ['`<function=` without its wrapper', 'in streams too, and only with tools'],
    raw(bare, 'xml', calls('f({"a":1})')),
    chat(
      { model: 'writes-xml', stream: true, tools: [tool()], messages: [user(JSON.stringify({ raw: bare }))] },
      event('choices.0.delta.tool_calls.0.function.name', 'f'),
      finish('tool_calls'),
    ),
    chat({ model: 'writes-xml', messages: [user(JSON.stringify({ raw: bare }))] }, text(bare)),
  ),
  works(
    122,
    'calls in `<think>` are thoughts',
    raw('<think><function=g></function></think><function=f></function>', 'xml', calls('f({})')),
  ),
  better(
    123,
    ['the order of a stream with calls', 'with the index of each choice'],
    chat(
      { model: 'writes-hermes', stream: true, n: 2, tools: [tool()], messages: [user(JSON.stringify({ raw: callOf('f') }))] },
      ...[0, 1].map(callsThenEnds),
    ),
  ),
  better(
    124,
    ['calls of unknown functions', 'stay text'],
    raw('<tool_call>{"name":"zzz","arguments":{}}</tool_call>', 'hermes', text(/"zzz"/), lacks('choices.0.message.tool_calls.0')),
  ),
  works(
    125,
    'formats qwen3_coder, glm4_5, minimax_m2, mistral, harmony and more',
    ...Object.entries(formats).map(([format, content]) => raw(content, format, calls('f({"a":1})'))),
  ),
  works(
    126,
    'results in the order of their calls',
    prompt(
      'thinking',
      [
        user('q'),
        assistant(null, {
          tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
        }),
        result('second', { tool_call_id: 'b' }),
        result('first', { tool_call_id: 'a' }),
      ],
      has('prompt', /first.*second/s),
    ),
  ),
]

const replies: readonly Row[] = [
  better(
    127,
    ['ids and model', 'of one form in streams and whole replies'],
    chat({}, has('id', /^chatcmpl-\w{16,}$/), has('model', 'scripted'), has('object', 'chat.completion')),
    chat(
      { stream: true },
      event('id', /^chatcmpl-\w{16,}$/),
      event('model', 'scripted'),
      event('object', 'chat.completion.chunk'),
    ),
  ),
  differs(
    128,
    ['`stop_str`', '`stop_reason`, also at the end of a stream'],
    chat({ messages: [user('a STOP')], stop: 'STOP' }, has('choices.0.stop_reason', 'STOP'), text('a ')),
    chat({ messages: [user('a STOP')], stop: 'STOP', stream: true }, event('choices.0.stop_reason', 'STOP')),
  ),
  differs(
    129,
    ['`eos_reason`', 'the finish reason, and `stop_reason` for a stop sequence'],
    chat(
      {},
      finish('stop'),
      has('choices.0.stop_reason', (value: unknown) => value === undefined || value === null),
    ),
    chat({ messages: [user('a b')], max_tokens: 1 }, finish('length')),
    chat({ messages: [user('a b')], stop: 'b' }, finish('stop'), has('choices.0.stop_reason', 'b')),
  ),
  works(
    130,
    'times and rates in `usage`: `server.usageTimes: [tabby]`',
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { messages: [user('a b c')] },
        ...['prompt_time', 'completion_time', 'total_time', 'completion_tokens_per_sec'].map((name) =>
          has(`usage.${name}`, (value: unknown) => typeof value === 'number' && value >= 0),
        ),
        has('usage.prompt_tokens_per_sec', (value: unknown) => value === 'Indeterminate' || positive(value)),
      ),
    ),
    chat({}, lacks('usage.prompt_time')),
  ),
  works(
    131,
    '`token_id` of log-probabilities',
    tiny({ logprobs: true, allowed_tokens: [32] }, has('choices.0.logprobs.content.0.token_id', 32)),
  ),
  better(
    132,
    ['log-probabilities belong to their tokens', 'exactly, also in streams'],
    tiny({ logprobs: true }, tokensAreText),
    tiny({ logprobs: true, stream: true }, tokensAreText),
  ),
  better(
    133,
    ['streams of completions', 'with usage and finish reasons'],
    complete(
      { stream: true, stream_options: { include_usage: true } },
      event('choices.0.text', 'hello'),
      event('usage.completion_tokens', 1),
      event('choices.0.finish_reason', 'stop'),
    ),
  ),
]

/** The tokens of the log-probabilities are those of the text. */
function tokensAreText(reply: Reply): string | undefined {
  const path = 'choices.0.logprobs.content'
  const parts = reply.json === undefined ? deltas(reply, path) : [valueAt(reply.json, path)]
  const entries = parts.flatMap((part) => (part ?? []) as readonly { readonly token: string; readonly logprob: number }[])
  const joined = entries.map(({ token }) => token).join('')
  const isRight = entries.length > 0 && joined === textOf(reply) && entries.every(({ logprob }) => logprob <= 0)
  return isRight ? undefined : `tokens ${JSON.stringify(joined)}, not ${JSON.stringify(textOf(reply))}`
}

/** No event of a stream has a value. */
function eventsLack(path: string): Check {
  return (reply) => (reply.events.length > 0 && deltas(reply, path).length === 0 ? undefined : `some event has ${path}`)
}

/** Fields, templates and replies of tabbyAPI. */
export const tabbyFields: readonly Group[] = [
  { title: 'fields', rows: fields },
  ...tabbySamplers,
  { title: 'presets', rows: presets },
  ...tabbyTemplates,
  { title: 'tools', rows: tools },
  { title: 'replies', rows: replies },
]

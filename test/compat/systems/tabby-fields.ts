import { fine } from '../answers.ts'
import { type Check, calls, event, finish, has, lacks, status, text, upstreamGot } from '../checks.ts'
import {
  better,
  chat,
  complete,
  differs,
  elsewhere,
  type Group,
  over,
  post,
  type Row,
  refuses,
  shownBy,
  tiny,
  tinyComplete,
  tool,
  user,
  works,
} from '../row.ts'
import { tabbyTemplates } from './tabby-templates.ts'

const oneOf = (schema: object) => ({ max_tokens: 20, ...schema })

const fields: readonly Row[] = [
  works(
    45,
    '`stream_options.include_usage`, also of complete replies',
    chat({ stream: true, stream_options: { include_usage: true } }, event('usage.total_tokens')),
    chat({ stream_options: { include_usage: true } }, has('usage.total_tokens')),
  ),
  better(
    46,
    ['`response_format`', 'also `json_object`, which tabbyAPI ignores'],
    tiny(oneOf({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { const: true } } } }), text('true')),
    tiny({ max_tokens: 30, response_format: { type: 'json_object' } }, text(/^\{/)),
  ),
  works(47, '`n`', chat({ n: 2 }, has('choices.1'))),
  differs(
    48,
    ['`best_of`, `echo`, `suffix` and `user` in chats are ignored', 'a value that would change the reply is a 400; others pass'],
    chat({ best_of: 1, echo: false, suffix: null, user: 'x' }, text('hello')),
    refuses(chat({ echo: true }), 'echo'),
  ),
  differs(
    49,
    ['names of `max_tokens`; 0 is accepted', 'all its names; 0 is a 400 that says to send -1: it is a limit for OpenAI'],
    chat({ max_length: 5 }, text('hello')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  works(50, '`min_tokens`', tiny({ min_tokens: 4 }, has('usage.completion_tokens', 4))),
  works(51, '`min_tokens` for models of other servers that have it', over(fine, { min_tokens: 3 }, upstreamGot('min_tokens', 3))),
  better(52, ['`stop`', 'also null'], chat({ stop: null }, text('hello'))),
  works(53, 'stop token ids in `stop`', tiny({ stop: ['zzz', 5] }, status(200))),
  works(54, '`banned_strings`', tiny({ banned_strings: ['Hello'] }, text(/^(?!.*Hello)/s))),
  works(55, '`banned_tokens`, `custom_token_bans`', tiny({ banned_tokens: [5] }), tiny({ custom_token_bans: '5,6' })),
  works(56, '`allowed_tokens`', tiny({ allowed_tokens: [5] }, status(200))),
  works(57, '`temperature` up to 10', tiny({ temperature: 10 })),
  works(
    58,
    '`temperature_last`',
    tiny({ temperature: 0.7, temperature_last: true }),
    tiny({ temperature: 0.7, temperature_last: false }),
  ),
  works(59, '`min_temp`, `max_temp`, `temp_exponent`', tiny({ min_temp: 0.5, max_temp: 1.5, temp_exponent: 1.2 })),
  works(60, '`smoothing_factor`, `smoothing_curve`', tiny({ smoothing_factor: 0.5, smoothing_curve: 1.2 }, status(200))),
  works(61, '`top_a`, `skew`, `tfs`', tiny({ top_a: 0.5, skew: 0.3, tfs: 0.5 }, status(200))),
  works(62, '`typical`', tiny({ typical: 0.5 }), tiny({ typical_p: 0.9 })),
  works(63, '`top_k`, `top_p`, `min_p`', tiny({ top_k: 5, top_p: 0.9, min_p: 0.1 })),
  works(64, '`xtc_probability`, `xtc_threshold`', tiny({ xtc_probability: 1, xtc_threshold: 0.05 })),
  better(65, ['penalties of 0 and more', '-2 to 2'], tiny({ frequency_penalty: -1, presence_penalty: -1 })),
  works(66, '`repetition_penalty`, `penalty_range`', tiny({ repetition_penalty: 1.2, penalty_range: 64 })),
  works(67, '`repetition_decay`', tiny({ repetition_penalty: 1.2, penalty_range: 8, repetition_decay: 5 }, status(200))),
  works(
    68,
    'DRY: five fields',
    tiny({ dry_multiplier: 1, dry_base: 1.75, dry_allowed_length: 2, dry_range: 64, dry_sequence_breakers: '["\\n"]' }),
  ),
  works(69, '`mirostat_mode`, `mirostat_tau`, `mirostat_eta`', tiny({ mirostat_mode: 2, mirostat_tau: 5, mirostat_eta: 0.1 })),
  works(
    70,
    '`add_bos_token` as the model has it',
    tinyComplete({ add_bos_token: true }),
    complete({ add_bos_token: false }, status(400, /add_bos_token/)),
  ),
  works(71, '`ban_eos_token`', tiny({ ban_eos_token: true }, finish('length'))),
  works(72, '`token_healing`', tinyComplete({ prompt: 'Hel', token_healing: true }, status(200))),
  works(73, '`logit_bias`', tiny({ logit_bias: { 5: 1 } })),
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
  works(79, '`logprobs` as a number', tiny({ logprobs: 3 }, has('choices.0.logprobs.content.0.top_logprobs.2'))),
  works(80, '`logprobs` above 5 in completions', tinyComplete({ logprobs: 10 }, has('choices.0.logprobs.top_logprobs.0'))),
  works(81, '`top_logprobs`', tiny({ logprobs: true, top_logprobs: 5 }, has('choices.0.logprobs.content.0.top_logprobs.4'))),
  works(
    82,
    '`adaptive_target`, `adaptive_decay`; below 0 is off',
    tiny({ adaptive_target: 0.5, adaptive_decay: 0.5 }),
    tiny({ adaptive_target: -0.01 }),
  ),
  works(83, '`loop_detect_window`', tiny({ loop_detect_window: 800 }, status(200))),
  works(
    84,
    '`cfg_scale`, `negative_prompt`, `guidance_scale`',
    tiny({ cfg_scale: 1.5, negative_prompt: 'rude words' }, status(200)),
    tiny({ guidance_scale: 1.2 }, status(200)),
  ),
  works(
    85,
    'speculation with n-grams or a draft model: `speculation`, `draft`',
    shownBy('e2e/engines/speculation-llama.test.ts', 'that is the model itself drafts what the model says'),
  ),
  differs(
    86,
    ['`skip_special_tokens: false`', 'in completions; in a chat they are its structure here, and a 400 says so'],
    tinyComplete({ skip_special_tokens: false, logit_bias: { 2558: 100 }, max_tokens: 2 }, text('<|im_start|><|im_start|>')),
    tinyComplete({ logit_bias: { 2558: 100 }, max_tokens: 2 }, text('')),
    chat({ skip_special_tokens: false }, status(400, /skip_special_tokens/)),
  ),
]

const preset = (body: object, ...checks: readonly Check[]) => post('/v1/sampling/override/switch', body, ...checks)
const unload = () => post('/v1/sampling/override/unload', {})

const presets: readonly Row[] = [
  works(
    87,
    'presets: default, forced, additive',
    preset({ preset: 'cold' }, has('selected_preset', 'cold')),
    chat({ messages: [user('a ### b')], stop: ['x'] }, text(/^a\s?$/)),
    unload(),
  ),
  works(
    88,
    'values in the request that switches',
    preset({ overrides: { top_k: { override: 3 }, temperature: { override: null } } }, has('overrides.top_k.override', 3)),
    unload(),
  ),
  differs(89, ['files of presets', '`sampling.presets` of the configuration'], preset({ preset: 'cold' }), unload()),
  better(
    90,
    ['unknown fields of a preset', 'a 400 with the name'],
    preset({ overrides: { nonsense: { override: 1 } } }, status(400, /nonsense/)),
  ),
]

const raw = (content: string, format: string, ...checks: readonly Check[]) =>
  chat({ model: `writes-${format}`, tools: [tool(), tool('g')], messages: [user(JSON.stringify({ raw: content }))] }, ...checks)
const named = { type: 'function', function: { name: 'f' } }
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
    chat(
      {
        model: 'writes-hermes',
        tools: [tool(), tool('g')],
        tool_choice: named,
        messages: [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{}}</tool_call>' }))],
      },
      calls('f({})'),
    ),
  ),
  works(
    120,
    '`tool_choice: none`',
    chat(
      {
        model: 'writes-hermes',
        tools: [tool()],
        tool_choice: 'none',
        messages: [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{}}</tool_call>' }))],
      },
      lacks('choices.0.message.tool_calls.0'),
    ),
  ),
  better(
    121,
    ['`<function=` without its wrapper', 'in streams too, and only with tools'],
    raw('<function=f><parameter=a>1</parameter></function>', 'xml', calls('f({"a":1})')),
  ),
  works(
    122,
    'calls in `<think>` are thoughts',
    raw('<think><function=f></function></think><function=f></function>', 'xml', calls('f({})')),
  ),
  better(
    123,
    ['the order of a stream with calls', 'with the index of each choice'],
    chat(
      {
        model: 'writes-hermes',
        stream: true,
        n: 2,
        tools: [tool()],
        messages: [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{}}</tool_call>' }))],
      },
      event('choices.0.index', 1),
      event('choices.0.finish_reason', 'tool_calls'),
    ),
  ),
  better(
    124,
    ['calls of unknown functions', 'stay text'],
    raw('<tool_call>{"name":"zzz","arguments":{}}</tool_call>', 'hermes', text(/zzz/)),
  ),
  works(
    125,
    'formats qwen3_coder, glm4_5, minimax_m2, mistral, harmony and more',
    ...Object.entries(formats).map(([format, content]) => raw(content, format, calls('f({"a":1})'))),
  ),
  works(
    126,
    'results in the order of their calls',
    shownBy('../src/model-text/template/chat-template.test.ts', 'tool results are rendered in the order of their calls'),
  ),
]

const replies: readonly Row[] = [
  better(
    127,
    ['ids and model', 'of one form in streams and whole replies'],
    chat({}, has('id', /^chatcmpl-/)),
    chat({ stream: true }, event('id', /^chatcmpl-/)),
  ),
  works(
    128,
    '`stop_str`: `stop_reason`',
    chat({ messages: [user('a STOP')], stop: 'STOP' }, has('choices.0.stop_reason', 'STOP')),
  ),
  differs(129, ['`eos_reason`', 'the finish reason, and `stop_reason` for a stop sequence'], chat({}, finish('stop'))),
  works(
    130,
    'times and rates in `usage`: `server.usageTimes: [tabby]`',
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { messages: [user('a')] },
        has('usage.completion_tokens_per_sec'),
        has('usage.prompt_time'),
      ),
    ),
  ),
  works(131, '`token_id` of log-probabilities', tiny({ logprobs: true }, has('choices.0.logprobs.content.0.token_id'))),
  better(
    132,
    ['log-probabilities belong to their tokens', 'exactly'],
    tiny({ logprobs: true, stream: true }, event('choices.0.logprobs.content.0.token')),
  ),
  better(
    133,
    ['streams of completions', 'with usage and finish reasons'],
    complete({ stream: true, stream_options: { include_usage: true } }, event('usage'), event('choices.0.finish_reason', 'stop')),
  ),
]

/** Fields, templates and replies of tabbyAPI. */
export const tabbyFields: readonly Group[] = [
  { title: 'fields', rows: fields },
  { title: 'presets', rows: presets },
  ...tabbyTemplates,
  { title: 'tools', rows: tools },
  { title: 'replies', rows: replies },
]

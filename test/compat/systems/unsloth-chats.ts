import { pieces, saying } from '../answers.ts'
import { body, type Check, calls, event, finish, has, header, lacks, status, text } from '../checks.ts'
import {
  assistant,
  better,
  called,
  chat,
  differs,
  type Group,
  imagePart,
  over,
  post,
  type Row,
  refused,
  refuses,
  result,
  shownBy,
  system,
  textPart,
  tiny,
  tool,
  user,
  works,
  writes,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'

const sees = text(/image\/png/)

const parts: readonly Row[] = [
  works(102, 'text parts', chat({ messages: [user([textPart('a')])] }, text('a'))),
  works(103, 'pictures as data URLs', chat({ messages: [user([imagePart(picture)])] }, sees)),
  better(
    104,
    ['pictures by URL', 'public addresses only'],
    chat({ messages: [user([imagePart('https://127.0.0.1/a')])] }, status(400)),
  ),
  works(
    105,
    '`detail`: auto, low, high',
    ...['auto', 'low', 'high'].map((detail) => chat({ messages: [user([imagePart(picture, { detail })])] }, sees)),
    chat({ messages: [user([imagePart(picture, { detail: 'zzz' })])] }, status(400)),
  ),
  better(
    106,
    ['other parts', 'a 400 with those that there are'],
    chat({ messages: [user([{ type: 'zzz' }])] }, status(400, /expected one of/)),
  ),
  works(
    107,
    '`tool_calls` of others than the assistant: 400',
    chat(
      { messages: [user('a', { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] })] },
      status(400),
    ),
  ),
  works(108, '`tool_call_id` of others than tools: 400', chat({ messages: [user('a', { tool_call_id: 'x' })] }, status(400))),
  better(
    109,
    ['`name` of others than tools', 'accepted, as OpenAI has it'],
    chat({ messages: [user('a', { name: 'n' })] }, text('a')),
  ),
  better(
    110,
    ['a result needs `tool_call_id`', 'or answers the first open call'],
    tiny({ messages: [user('q'), called('{}'), result('r', {})] }),
  ),
  better(111, ['a result without a text', 'accepted'], tiny({ messages: [user('q'), called('{}'), result('')] })),
  better(112, ['an assistant without text and calls', 'accepted'], tiny({ messages: [user('q'), assistant(''), user('a')] })),
  differs(
    113,
    ['a user without content: 400', 'an empty list of parts is an empty text, which some clients send'],
    chat({ messages: [user(null)] }, status(400)),
    chat({ messages: [user([])] }, status(200)),
  ),
  better(114, ['system messages alone are refused', 'they are answered, as other servers do'], tiny({ messages: [system('a')] })),
  better(115, ['several system messages', 'anywhere'], tiny({ messages: [system('a'), user('b'), system('c')] })),
  better(
    116,
    ['several pictures', 'keep their places'],
    chat({ messages: [user([imagePart(picture), textPart('a'), imagePart(picture)])] }, text(/image.*a.*image/s)),
  ),
  differs(
    117,
    ['a result without a call', 'is shown to the model, which may use it'],
    tiny({ messages: [user('q'), result('r')] }),
  ),
]

const runsTools = (fields: object) => chat(fields, status(400, /tools/))

const fields: readonly Row[] = [
  works(
    118,
    '`model`, by default `default`',
    post('/v1/chat/completions', { messages: [user('a')] }, has('model')),
    chat({ model: 'default' }, text('hello')),
  ),
  works(119, '`messages`', chat({}, text('hello'))),
  works(120, '`stream`, by default false', chat({}, has('object', 'chat.completion'))),
  works(121, '`temperature`', tiny({ temperature: 2 })),
  works(122, '`top_p`', tiny({ top_p: 0.5 })),
  works(
    123,
    '`max_tokens`, at least 1, or null',
    chat({ max_tokens: null }, text('hello')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  better(124, ['`presence_penalty`', '-2 to 2'], tiny({ presence_penalty: -2 })),
  better(
    125,
    ['`stop`', 'in every mode, also with streams'],
    chat({ stream: true, messages: [user('a STOP')], stop: 'STOP' }, finish('stop')),
  ),
  works(
    126,
    '`tools`',
    writes('<tool_call>{"name":"f","arguments":{}}</tool_call>', { model: 'writes-hermes', tools: [tool()] }, calls('f({})')),
  ),
  better(
    127,
    ['`tool_choice`', 'enforced'],
    tiny({ max_tokens: 40, tools: [tool('f', { type: 'object', properties: {} })], tool_choice: 'required' }, calls('f({})')),
  ),
  works(128, '`top_k`', tiny({ top_k: 3 })),
  works(129, '`min_p`', tiny({ min_p: 0.1 })),
  better(130, ['`repetition_penalty`', 'above 0'], tiny({ repetition_penalty: 0.9 })),
  works(131, '`image_base64`', chat({ image_base64: redPixel }, sees)),
  works(
    132,
    '`audio_base64`',
    chat({ audio_base64: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=' }, text(/audio/)),
  ),
  works(133, '`use_adapter`', tiny({ use_adapter: false }), tiny({ use_adapter: 'zzz' }, status(400, /adapter/))),
  works(
    134,
    '`enable_tools`, where the operator switches tools on',
    runsTools({ enable_tools: true }),
    chat({ enable_tools: false }, text('hello')),
    shownBy('e2e/engines/tool-loop.test.ts', 'give the same events'),
  ),
  works(
    135,
    '`enabled_tools`',
    runsTools({ enable_tools: true, enabled_tools: ['python'] }),
    shownBy('e2e/engines/tool-loop.test.ts', 'give the same events'),
  ),
  works(
    136,
    '`auto_heal_tool_calls: false`',
    chat({ auto_heal_tool_calls: false }, text('hello')),
    chat({ auto_heal_tool_calls: 'x' }, status(400, /auto_heal_tool_calls/)),
  ),
  works(
    137,
    '`max_tool_calls_per_message`',
    chat({ max_tool_calls_per_message: 0 }, text('hello')),
    chat({ max_tool_calls_per_message: -1 }, status(400)),
  ),
  works(138, '`tool_call_timeout`', chat({ tool_call_timeout: 5 }, text('hello')), chat({ tool_call_timeout: 0 }, status(400))),
  works(139, '`session_id`', chat({ session_id: 's' }, text('hello'))),
  works(140, '`cancel_id`', chat({ cancel_id: 'c' }, text('hello')), chat({ cancel_id: 3 }, status(400))),
  works(141, '`enable_thinking`', tiny({ enable_thinking: true }, has('choices.0.message.reasoning_content'))),
  better(142, ['`reasoning_effort`', 'any word, for the template'], tiny({ reasoning_effort: 'low' })),
  works(143, '`preserve_thinking`', tiny({ preserve_thinking: true })),
  better(
    144,
    ['`seed`, `n`, `logprobs`, `response_format`, `frequency_penalty`, `logit_bias`, `stream_options`', 'all used'],
    tiny(
      { seed: 1, n: 2, logprobs: true, frequency_penalty: 0.1, logit_bias: { 5: 1 }, response_format: { type: 'json_object' } },
      has('choices.1'),
    ),
  ),
  refused(
    145,
    ['`nudge_tool_calls`', 'no effect, and named in `x-dragoman-ignored`: answers are not judged by their words'],
    chat({ nudge_tool_calls: true }, header('x-dragoman-ignored', /nudge_tool_calls/)),
  ),
  refused(
    146,
    [
      '`context_overflow`: truncate_middle, truncate_oldest',
      'a conversation is shortened only where a caller sees it: `truncation` of Responses names what it drops',
    ],
    refuses(chat({ context_overflow: 'truncate_middle' }), 'context_overflow'),
  ),
  works(
    147,
    '`thread_id`, as `session_id`',
    chat({ thread_id: 'x' }, ({ headers }) => (headers.has('x-dragoman-ignored') ? 'it is named as ignored' : undefined)),
    shownBy('../src/dialect/wire/cancel-keys.test.ts', 'C'),
  ),
  works(
    148,
    '`permission_mode`, `confirm_tool_calls`',
    chat({ permission_mode: 'ask', confirm_tool_calls: true }, status(200)),
    shownBy('e2e/engines/tool-loop.test.ts', 'give the same events'),
  ),
  works(
    149,
    '`continue_final_message`, `thinking`, `chat_template_kwargs`, `max_completion_tokens`, `parallel_tool_calls`',
    tiny({
      thinking: { type: 'disabled' },
      chat_template_kwargs: { a: 1 },
      max_completion_tokens: 4,
      max_tokens: undefined,
      parallel_tool_calls: false,
    }),
    tiny({ continue_final_message: true, messages: [user('a'), assistant('b')] }),
  ),
]

const replies: readonly Row[] = [
  better(
    150,
    ['ids, the role, the finish reason, `[DONE]`', 'also after errors'],
    chat({ stream: true, messages: [user('{"chunks":["a","b"],"failAfter":1}')] }, event('error'), body(/\[DONE\]/)),
  ),
  better(
    151,
    ['`finish_reason`', 'stop, length and tool_calls as they are true'],
    chat({ max_tokens: 1, messages: [user('a b')] }, finish('length')),
  ),
  better(152, ['`usage`', 'with details'], chat({}, has('usage.prompt_tokens_details'))),
  works(
    153,
    '`timings`',
    tiny({}, has('timings.predicted_n')),
    tiny({ stream: true, stream_options: { include_usage: true } }, event('timings.predicted_per_second')),
  ),
  works(
    154,
    'headers of streams',
    chat({ stream: true }, header('content-type', /text\/event-stream/), header('cache-control', /no-cache|no-store/)),
  ),
  works(155, 'events tool_status, tool_start, tool_end', shownBy('e2e/engines/tool-loop.test.ts', 'give the same events')),
  better(
    156,
    ['such events of another server', 'are dropped'],
    over(
      pieces(
        'data: {"type":"tool_start","tool_name":"x"}\n\n',
        'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
        'data: [DONE]\n\n',
      ),
      { stream: true },
      text('a'),
      (reply) => (reply.text.includes('tool_start') ? 'tool_start is passed on' : undefined),
    ),
  ),
]

const raw = (content: string, ...checks: readonly Check[]) => over(saying(content), { tools: [tool(), tool('g-1.x')] }, ...checks)

const parsed: readonly Row[] = [
  works(
    237,
    '`<tool_call>` with JSON, several, without its end',
    raw(
      '<tool_call>{"name":"f","arguments":{"a":"}"}}</tool_call><tool_call>{"name":"f","arguments":{}}',
      calls('f({"a":"}"})', 'f({})'),
    ),
  ),
  better(
    238,
    ['names with `-` and `.`, types by the schema, unique ids', 'also mixed forms and null arguments'],
    raw('<tool_call>{"name":"g-1.x","arguments":null}</tool_call>', calls('g-1.x({})')),
  ),
  works(
    239,
    '`</function>` in a value',
    raw(
      '<function=f><parameter=a>x </function> y</parameter></function>',
      has('choices.0.message.tool_calls.0.function.arguments', /<\/function> y/),
    ),
  ),
  works(
    240,
    '`</parameter>` in a value',
    raw('<tool_call><function=f><parameter=a>x</parameter></function></tool_call>', calls('f({"a":"x"})')),
  ),
  works(
    241,
    'markup in code and thoughts is text',
    raw('```\n<tool_call>{"name":"f","arguments":{}}</tool_call>\n```', lacks('choices.0.message.tool_calls.0')),
  ),
  works(
    242,
    '`auto_heal_tool_calls: false` leaves texts as they are',
    over(
      saying('<tool_call>{"name":"f","arguments":{}}</tool_call>'),
      { tools: [tool()], auto_heal_tool_calls: false },
      lacks('choices.0.message.tool_calls.0'),
      text(/<tool_call>/),
    ),
  ),
  works(
    243,
    'the loop of tools: budget, states, repetitions, a last turn, sums of usage',
    shownBy('e2e/engines/tool-loop.test.ts', 'give the same events'),
  ),
  works(
    244,
    'web_search, python, terminal, pages, a sandbox',
    shownBy('e2e/tools/sandbox-escapes.test.ts', 'a program in Python does not get'),
  ),
  works(245, 'the system message says which tools there are', shownBy('e2e/engines/tool-loop.test.ts', 'give the same events')),
  works(246, 'approvals; a nudge to call', shownBy('../src/core/tool-loop/approvals.test.ts', 'approval')),
]

const rest: readonly Row[] = [
  differs(
    247,
    ['its own speech and codecs', 'by a server of speech, through `services` of a model'],
    post('/v1/audio/speech', { input: 'a' }, status(400, /services/)),
    shownBy('e2e/media/media-services.test.ts', 'speech arrives byte for byte'),
  ),
  differs(
    248,
    ['sounds in chats, transcriptions', 'by models that hear, and servers that transcribe'],
    chat({ audio_base64: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=' }, text(/audio/)),
  ),
  better(
    249,
    ["errors in OpenAI's envelope", 'with `param`, and 404 and 429 as SDKs know them'],
    chat({ model: 'zzz' }, status(404), has('error.code', 'model_not_found')),
  ),
  better(
    250,
    ['a prompt that is too long', 'both numbers, and a code'],
    chat(
      { model: 'short', messages: [user('a '.repeat(30))] },
      has('error.code', 'context_length_exceeded'),
      has('error.message', /20.*30/s),
    ),
  ),
  works(
    251,
    'errors in the form of each protocol, and `detail` below /api',
    post('/v1/messages', { model: 'scripted', messages: [] }, has('type', 'error')),
    post('/api/inference/messages', { model: 'scripted', messages: [] }, has('detail')),
  ),
]

/** Chats of Unsloth Studio. */
export const unslothChats: readonly Group[] = [
  { title: 'messages', rows: parts },
  { title: 'fields of chats', rows: fields },
  { title: 'replies', rows: replies },
  { title: 'calls in texts, and tools of the server', rows: parsed },
  { title: 'sound and errors', rows: rest },
]

import { fine, saying } from '../../answers.ts'
import { calls, event, finish, has, header, status, text, upstreamGot, upstreamLacks } from '../../checks.ts'
import {
  assistant,
  better,
  called,
  changes,
  chat,
  differs,
  type Group,
  imagePart,
  keeps,
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
  usesTools,
  works,
  writes,
} from '../../row.ts'
import { picture, redPixel } from '../../servers.ts'
import { arrives, cancelled, drawn, greedy } from './unsloth-steps.ts'

const sees = text(/image\/png/)
/** Another server gets these messages. */
const converses = (messages: readonly object[], ...got: readonly (readonly [place: string, value: unknown])[]) =>
  over(fine, { messages }, ...got.map(([place, value]) => upstreamGot(`messages${place}`, value)))

const parts: readonly Row[] = [
  works(102, 'text parts', chat({ messages: [user([textPart('a'), textPart('b')])] }, text(/^a\s*b$/))),
  works(
    103,
    'pictures as data URLs',
    chat({ messages: [user([imagePart(picture)])] }, sees),
    converses([user([imagePart(picture)])], ['.0.content.0.image_url.url', picture]),
  ),
  better(
    104,
    ['pictures by URL', 'fetched, from public addresses and those that the operator allows only'],
    chat({ messages: [user([imagePart('SITE/red.png')])] }, sees),
    chat({ messages: [user([imagePart('https://10.0.0.1/a')])] }, status(400, /public address/)),
  ),
  works(
    105,
    '`detail`: auto, low, high',
    ...['auto', 'low', 'high'].map((detail) =>
      converses([user([imagePart(picture, { detail })])], ['.0.content.0.image_url.detail', detail]),
    ),
    chat({ messages: [user([imagePart(picture, { detail: 'zzz' })])] }, status(400, /detail/)),
  ),
  better(
    106,
    ['other parts', 'a 400 with those that there are'],
    chat({ messages: [user([{ type: 'zzz' }])] }, status(400, /expected one of.*image_url/)),
  ),
  works(
    107,
    '`tool_calls` of others than the assistant: 400',
    refuses(
      chat({ messages: [user('a', { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] })] }),
      'messages[0].tool_calls',
    ),
  ),
  works(
    108,
    '`tool_call_id` of others than tools: 400',
    refuses(chat({ messages: [user('a', { tool_call_id: 'x' })] }), 'messages[0].tool_call_id'),
  ),
  better(
    109,
    ['`name` of others than tools', 'accepted, as OpenAI has it'],
    converses([user('a', { name: 'n' })], ['.0.name', 'n']),
  ),
  better(
    110,
    ['a result needs `tool_call_id`', 'or answers the first open call'],
    converses([user('q'), called('{}'), result('r', {})], ['.2.tool_call_id', 'a'], ['.2.content', 'r']),
  ),
  better(
    111,
    ['a result without a text', 'accepted'],
    converses([user('q'), called('{}'), result('')], ['.2', { role: 'tool', tool_call_id: 'a', content: '' }]),
  ),
  better(
    112,
    ['an assistant without text and calls', 'accepted'],
    converses([user('q'), assistant(null), user('a')], ['.1', assistant('')], ['.2', user('a')]),
  ),
  differs(
    113,
    ['a user without content: 400', 'an empty list of parts is an empty text, which some clients send'],
    chat({ messages: [user(null)] }, status(400, /messages\[0\]\.content/)),
    converses([user([])], ['.0', user('')]),
  ),
  better(
    114,
    ['system messages alone are refused', 'they are answered, as other servers do'],
    converses([system('a')], ['', [system('a')]]),
  ),
  better(
    115,
    ['several system messages', 'anywhere'],
    converses([system('a'), user('b'), system('c')], ['', [system('a'), user('b'), system('c')]]),
  ),
  better(
    116,
    ['several pictures', 'keep their places'],
    chat({ messages: [user([imagePart(picture), textPart('a'), imagePart(picture)])] }, text(/^\[image[^[]*a[^[]*\[image/s)),
  ),
  differs(
    117,
    ['a result without a call', 'is shown to the model, which may use it'],
    converses([user('q'), result('r')], ['.1', { role: 'tool', tool_call_id: 'a', content: 'r' }]),
  ),
]

const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='
const echo = 'call docs__echo {"text": "so be it"}'
const callOfF = '<tool_call>{"name":"f","arguments":{}}</tool_call>'

const fields: readonly Row[] = [
  works(
    118,
    '`model`, by default `default`',
    post('/v1/chat/completions', { messages: [user('a')] }, has('model', 'scripted'), text('a')),
    chat({ model: 'default' }, has('model', 'scripted')),
  ),
  works(
    119,
    '`messages`',
    converses([system('a'), user('b'), assistant('c'), user('d')], ['', [system('a'), user('b'), assistant('c'), user('d')]]),
  ),
  works(
    120,
    '`stream`, by default false',
    chat({}, has('object', 'chat.completion')),
    chat({ stream: true }, event('object', 'chat.completion.chunk')),
  ),
  works(
    121,
    '`temperature`',
    arrives('temperature', 1.25),
    changes(drawn, { temperature: 0 }),
    refuses(chat({ temperature: -1 }), 'temperature'),
  ),
  works(122, '`top_p`', arrives('top_p', 0.5), changes(drawn, { top_p: 0.01 }), refuses(chat({ top_p: 2 }), 'top_p')),
  works(
    123,
    '`max_tokens`, at least 1, or null',
    chat({ max_tokens: 1, messages: [user('a b')] }, text(/^a\s?$/), finish('length')),
    chat({ max_tokens: null, messages: [user('a b')] }, text('a b'), finish('stop')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  better(
    124,
    ['`presence_penalty`', '-2 to 2'],
    arrives('presence_penalty', -2),
    changes(greedy, { presence_penalty: 2 }),
    refuses(chat({ presence_penalty: -3 }), 'presence_penalty'),
  ),
  better(
    125,
    ['`stop`', 'in every mode, also with streams'],
    chat({ stream: true, messages: [user('a STOP b')], stop: 'STOP' }, text('a '), finish('stop')),
    chat({ messages: [user('a STOP b')], stop: ['b', 'STOP'] }, text('a '), finish('stop')),
  ),
  works(
    126,
    '`tools`',
    arrives('tools', [tool()]),
    writes(callOfF, { model: 'writes-hermes', tools: [tool()] }, calls('f({})'), finish('tool_calls')),
  ),
  better(
    127,
    ['`tool_choice`', 'enforced'],
    tiny({ max_tokens: 40, tools: [tool('f', { type: 'object', properties: {} })], tool_choice: 'required' }, calls('f({})')),
    over(
      fine,
      { tools: [tool(), tool('g')], tool_choice: { type: 'function', function: { name: 'g' } } },
      upstreamGot('tool_choice.function.name', 'g'),
    ),
    over(fine, { tools: [tool()], tool_choice: 'none' }, upstreamLacks('tools')),
  ),
  works(128, '`top_k`', arrives('top_k', 3), changes(drawn, { top_k: 1 })),
  works(129, '`min_p`', arrives('min_p', 0.1), changes(drawn, { min_p: 0.99 })),
  better(
    130,
    ['`repetition_penalty`', 'above 0'],
    arrives('repetition_penalty', 0.9),
    changes(greedy, { repetition_penalty: 2 }),
    refuses(chat({ repetition_penalty: 0 }), 'repetition_penalty'),
  ),
  works(
    131,
    '`image_base64`',
    chat({ image_base64: redPixel }, sees),
    over(fine, { image_base64: redPixel }, upstreamGot('messages.0.content.1', imagePart(picture))),
  ),
  works(
    132,
    '`audio_base64`',
    chat({ audio_base64: silence }, text(/audio\/wav/)),
    over(fine, { audio_base64: silence }, upstreamGot('messages.0.content.1.input_audio', { data: silence, format: 'wav' })),
  ),
  differs(
    133,
    [
      '`use_adapter`',
      'an adapter by its name, or none, where `llama-server` runs the model; the embedded engine has those of the load, and refuses others',
    ],
    keeps(drawn, { use_adapter: false }),
    tiny({ use_adapter: 'zzz' }, status(400, /'zzz' \(it has none\).*"param":"use_adapter"/)),
    shownBy('e2e/models/lora.test.ts', 'are those that a request asks for, or it is refused by name'),
  ),
  works(
    134,
    '`enable_tools`, where the operator switches tools on',
    usesTools(echo, {}, text(/so be it$/)),
    usesTools(echo, { enable_tools: false }, text(/<tool_call>/)),
  ),
  works(
    135,
    '`enabled_tools`',
    usesTools(echo, { enabled_tools: ['docs'] }, text(/so be it$/)),
    usesTools(echo, { enabled_tools: ['web_search'] }, text(/There is no tool 'docs__echo'.*tools are: web_search\./s)),
    usesTools(echo, { enabled_tools: ['zzz'] }, status(400, /'zzz' is not a tool of this server/)),
  ),
  works(
    136,
    '`auto_heal_tool_calls: false`',
    over(saying(callOfF), { tools: [tool()], auto_heal_tool_calls: false }, text(callOfF)),
    over(saying(callOfF), { tools: [tool()], auto_heal_tool_calls: true }, calls('f({})')),
    refuses(chat({ auto_heal_tool_calls: 'x' }), 'auto_heal_tool_calls'),
  ),
  works(
    137,
    '`max_tool_calls_per_message`',
    usesTools(echo, { max_tool_calls_per_message: 0 }, text('I look. ')),
    usesTools(echo, { max_tool_calls_per_message: 1 }, text(/so be it$/)),
    refuses(chat({ max_tool_calls_per_message: -1 }), 'max_tool_calls_per_message'),
  ),
  works(
    138,
    '`tool_call_timeout`',
    usesTools('call docs__wait {}', { tool_call_timeout: 1 }, text(/took longer than 1 s/)),
    refuses(chat({ tool_call_timeout: 0 }), 'tool_call_timeout'),
  ),
  works(139, '`session_id`', ...cancelled({ session_id: 'u139' }, { session_id: 'u139' }, has('thread_ids', ['u139']))),
  works(
    140,
    '`cancel_id`',
    ...cancelled({ cancel_id: 'u140' }, { cancel_id: 'u140' }),
    chat({ cancel_id: 3 }, status(400, /cancel_id/)),
  ),
  works(
    141,
    '`enable_thinking`',
    tiny({ max_tokens: 8, enable_thinking: true }, has('choices.0.message.reasoning_content', /^The user/)),
    tiny({ max_tokens: 8, enable_thinking: false }, has('choices.0.message.reasoning_content', null), text(/Hello/)),
  ),
  better(
    142,
    ['`reasoning_effort`', 'any word, for the template'],
    arrives('reasoning_effort', 'low'),
    over(fine, { reasoning_effort: 'zzz' }, upstreamGot('chat_template_kwargs.reasoning_effort', 'zzz')),
    tiny({ max_tokens: 8, reasoning_effort: 'low' }, has('choices.0.message.reasoning_content', /^The user/)),
  ),
  works(
    143,
    '`preserve_thinking`',
    ...[true, false].map((value) =>
      over(fine, { preserve_thinking: value }, upstreamGot('chat_template_kwargs.preserve_thinking', value)),
    ),
  ),
  better(
    144,
    ['`seed`, `n`, `logprobs`, `response_format`, `frequency_penalty`, `logit_bias`, `stream_options`', 'all used'],
    ...Object.entries({ seed: 7, frequency_penalty: 0.5, logit_bias: { 5: 1 }, response_format: { type: 'json_object' } }).map(
      ([name, value]) => arrives(name, value),
    ),
    changes(drawn, { seed: 2 }),
    tiny({ n: 2 }, has('choices.1.message.content', /./)),
    tiny({ logprobs: true, top_logprobs: 2 }, has('choices.0.logprobs.content.0.top_logprobs.1.token')),
    tiny({ max_tokens: 8, response_format: { type: 'json_object' } }, text(/^\{/)),
    chat({ stream: true, stream_options: { include_usage: true } }, event('usage.total_tokens', 2)),
  ),
  refused(
    145,
    ['`nudge_tool_calls`', 'no effect, and named in `x-dragoman-ignored`: answers are not judged by their words'],
    chat({ nudge_tool_calls: true }, header('x-dragoman-ignored', /^nudge_tool_calls$/)),
  ),
  refused(
    146,
    [
      '`context_overflow`: truncate_middle, truncate_oldest',
      'a conversation is shortened only where a caller sees it: `truncation` of Responses names what it drops',
    ],
    refuses(chat({ context_overflow: 'truncate_middle' }), 'context_overflow'),
    refuses(chat({ context_overflow: 'truncate_oldest' }), 'context_overflow'),
  ),
  works(
    147,
    '`thread_id`, as `session_id`',
    ...cancelled({ thread_id: 'u147' }, { session_id: 'u147' }, has('thread_ids', ['u147'])),
  ),
  works(
    148,
    '`permission_mode`, `confirm_tool_calls`',
    // A caller without frames cannot be asked.
    usesTools(echo, { permission_mode: 'ask' }, text(/not approved/)),
    usesTools(echo, { confirm_tool_calls: true }, text(/not approved/)),
    usesTools(echo, { permission_mode: 'auto' }, text(/so be it$/)),
    shownBy('../src/http/unsloth-page.test.ts', 'decides a call that waits with'),
  ),
  works(
    149,
    '`continue_final_message`, `thinking`, `chat_template_kwargs`, `max_completion_tokens`, `parallel_tool_calls`',
    over(fine, { thinking: { type: 'disabled' } }, upstreamGot('chat_template_kwargs.enable_thinking', false)),
    over(fine, { chat_template_kwargs: { a: 1 } }, upstreamGot('chat_template_kwargs.a', 1)),
    arrives('max_completion_tokens', 4, 'max_tokens'),
    over(fine, { tools: [tool()], parallel_tool_calls: false }, upstreamGot('parallel_tool_calls', false)),
    over(
      fine,
      { continue_final_message: true, messages: [user('a'), assistant('b')] },
      upstreamGot('continue_final_message', true),
      upstreamGot('messages.1', assistant('b')),
    ),
    tiny({ continue_final_message: true, messages: [user('hello'), assistant('Hello! How can')] }, text(/^ I help you/)),
  ),
]

/** Chats of Unsloth Studio. */
export const unslothChats: readonly Group[] = [
  { title: 'messages', rows: parts },
  { title: 'fields of chats', rows: fields },
]

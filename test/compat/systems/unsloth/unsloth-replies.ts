import type { Answer } from '../../../support/upstream/upstream.ts'
import { bytes, call, calling, pieces, saying, whole } from '../../answers.ts'
import {
  body,
  type Check,
  calls,
  event,
  finish,
  has,
  header,
  lacks,
  searchedFor,
  status,
  text,
  upstreamGot,
  upstreamLacks,
} from '../../checks.ts'
import {
  better,
  chat,
  differs,
  type Group,
  inSandbox,
  onTools,
  over,
  post,
  postForm,
  prepares,
  type Row,
  sent,
  shownBy,
  system,
  tiny,
  tool,
  user,
  usesTools,
  works,
} from '../../row.ts'
import { api, below } from './unsloth-steps.ts'

const echo = 'call docs__echo {"text": "so be it"}'

/** The frames of tools in a stream, in order, as their types and what else they have. */
function frames(...wanted: readonly (readonly [type: string, more: object])[]): Check {
  return ({ events }) => {
    const found = events.filter((one) => Object.hasOwn(one as object, 'type')) as { readonly type: string }[]
    const isAsWanted = ([type, more]: (typeof wanted)[number], index: number) =>
      found[index]?.type === type &&
      Object.entries(more).every(
        ([name, value]) => JSON.stringify(Reflect.get(found[index] ?? {}, name)) === JSON.stringify(value),
      )
    return found.length === wanted.length && wanted.every(isAsWanted) ? undefined : `frames ${JSON.stringify(found)}`
  }
}

const replies: readonly Row[] = [
  better(
    150,
    ['ids, the role, the finish reason, `[DONE]`', 'also after errors'],
    chat(
      { stream: true },
      event('id', /^chatcmpl-\w+$/),
      event('choices.0.delta.role', 'assistant'),
      finish('stop'),
      body(/\[DONE\]\n\n$/),
    ),
    chat(
      { stream: true, messages: [user('{"chunks":["a","b"],"failAfter":1}')] },
      text('a'),
      event('error.code', 'engine_failed'),
      body(/\[DONE\]\n\n$/),
    ),
  ),
  better(
    151,
    ['`finish_reason`', 'stop, length and tool_calls as they are true'],
    chat({}, finish('stop')),
    chat({ max_tokens: 1, messages: [user('a b')] }, finish('length')),
    over(calling(call('f', '{}')), { tools: [tool()] }, finish('tool_calls')),
  ),
  better(
    152,
    ['`usage`', 'with details'],
    over(saying('a', 'b'), {}, has('usage.prompt_tokens', 3), has('usage.completion_tokens', 2), has('usage.total_tokens', 5)),
    prepares(tiny({ messages: [user('the same prompt, once and twice')], user: 'u152' })),
    tiny(
      { messages: [user('the same prompt, once and twice')] },
      has('usage.prompt_tokens_details.cached_tokens', (count: number) => count > 8),
    ),
    tiny({ max_tokens: 8, enable_thinking: true }, has('usage.completion_tokens_details.reasoning_tokens', 8)),
  ),
  works(
    153,
    '`timings`',
    tiny(
      { ignore_eos: true },
      has('timings.predicted_n', 4),
      has('timings.predicted_ms', (ms: number) => ms > 0),
    ),
    tiny(
      { ignore_eos: true, stream: true, stream_options: { include_usage: true } },
      event('timings.predicted_n', 4),
      event('timings.predicted_per_second', (speed: number) => speed > 0),
    ),
  ),
  works(
    154,
    'headers of streams',
    chat(
      { stream: true },
      header('content-type', /text\/event-stream/),
      header('cache-control', /no-cache|no-store/),
      header('x-accel-buffering', /^no$/),
    ),
  ),
  works(
    155,
    'events tool_status, tool_start, tool_end',
    below(
      '/chat/completions',
      usesTools(
        echo,
        { stream: true },
        frames(
          ['tool_status', { content: 'Calling echo of docs' }],
          ['tool_start', { tool_name: 'docs__echo', arguments: { text: 'so be it' } }],
          ['tool_end', { tool_name: 'docs__echo', result: 'so be it' }],
          ['tool_status', { content: '' }],
        ),
        text(/^I look\. .*so be it$/s),
      ),
    ),
  ),
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
      frames(),
    ),
  ),
]

const raw = (content: string, ...checks: readonly Check[]) =>
  over(
    saying(content),
    { tools: [tool('f', { type: 'object', properties: { a: { type: 'string' }, n: { type: 'integer' } } }), tool('g-1.x')] },
    ...checks,
  )
const twoIds: Check = ({ json }) => {
  const found = (json as { choices: [{ message: { tool_calls?: { id: string }[] } }] }).choices[0].message.tool_calls ?? []
  return found.length === 2 && new Set(found.map(({ id }) => id)).size === 2 ? undefined : `ids ${JSON.stringify(found)}`
}

/** Calls until it may not. */
const callsAlways: Answer = (request, response) =>
  (request.body.tools === undefined ? saying('done') : calling(call('docs__echo', '{"text":"x"}')))(request, response)
const callsOnce: Answer = (request, response) => {
  const messages = request.body.messages as readonly { readonly role: string }[]
  return (messages.some(({ role }) => role === 'tool') ? saying('done') : calling(call('docs__echo', '{"text":"x"}')))(
    request,
    response,
  )
}
/** With the tools of the server. */
const loops = (...chat: Parameters<typeof over>) => onTools(over(...chat))
const turns =
  (count: number): Check =>
  ({ seen }) =>
    seen.length === count ? undefined : `${seen.length} turns, not ${count}`

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
    raw('<function=f><parameter=n>7</parameter></function>', calls('f({"n":7})')),
    raw(
      '<tool_call>{"name":"f","arguments":{}}</tool_call><function=f><parameter=n>7</parameter></function>',
      calls('f({})', 'f({"n":7})'),
      twoIds,
    ),
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
    raw(
      '<tool_call><function=f><parameter=a>x </parameter> y</parameter></function></tool_call>',
      has('choices.0.message.tool_calls.0.function.arguments', /x <\/parameter> y/),
    ),
  ),
  works(
    241,
    'markup in code and thoughts is text',
    raw(
      '```\n<tool_call>{"name":"f","arguments":{}}</tool_call>\n```',
      lacks('choices.0.message.tool_calls.0'),
      text(/<tool_call>/),
    ),
    raw(
      '<think><tool_call>{"name":"f","arguments":{}}</tool_call></think>ok',
      lacks('choices.0.message.tool_calls.0'),
      body(/<tool_call>/),
    ),
  ),
  works(
    242,
    '`auto_heal_tool_calls: false` leaves texts as they are',
    over(
      saying('<tool_call>{"name":"f","arguments":{}}</tool_call>'),
      { tools: [tool()], auto_heal_tool_calls: false },
      lacks('choices.0.message.tool_calls.0'),
      text('<tool_call>{"name":"f","arguments":{}}</tool_call>'),
    ),
  ),
  works(
    243,
    'the loop of tools: budget, states, repetitions, a last turn, sums of usage',
    loops(
      callsAlways,
      { enable_tools: true, enabled_tools: ['docs'] },
      text('done'),
      // The call, two repetitions of it, and the answer.
      turns(4),
      has('usage.prompt_tokens', 3),
      has('usage.completion_tokens', 4),
      upstreamLacks('tools'),
      upstreamGot('messages.3.content', /x$/),
      upstreamGot('messages.5.content', /made before/),
    ),
    loops(callsAlways, { enable_tools: true, enabled_tools: ['docs'], max_tool_calls_per_message: 1 }, text('done'), turns(2)),
  ),
  works(
    244,
    'web_search, python, terminal, pages, a sandbox',
    usesTools('call web_search {"query": "tides"}', { enabled_tools: ['web_search'] }, searchedFor('tides'), text(/Twice a day/)),
    usesTools('call web_search {"url": "SITE/tides"}', { enabled_tools: ['web_search'] }, text(/High water comes \*\*twice/)),
    inSandbox(usesTools('call python {"code": "print(6 * 7)"}', { enabled_tools: ['python'] }, text(/42/))),
    inSandbox(
      usesTools(
        'call terminal {"command": "echo $((6 * 7)); ls /home /root"}',
        { enabled_tools: ['terminal'] },
        text(/42.*No such file/s),
      ),
    ),
    inSandbox(
      usesTools(
        'call python {"code": "import urllib.request\\nprint(urllib.request.urlopen(\'SITE/tides\').read())"}',
        { enabled_tools: ['python'] },
        text(/Connection refused|unreachable/),
      ),
    ),
  ),
  works(
    245,
    'the system message says which tools there are',
    loops(
      callsOnce,
      { enable_tools: true, enabled_tools: ['docs', 'web_search'], messages: [system('mine'), user('q')] },
      upstreamGot('messages.0.content', /mine.*Today is \d{4}-\d\d-\d\d.*docs__echo.*web_search searches the web/s),
      upstreamGot('messages.1', user('q')),
    ),
  ),
  differs(
    246,
    ['approvals; a nudge to call', 'approvals as there; no answer is judged by its words, see `nudge_tool_calls`'],
    usesTools('call guarded__echo {"text": "so be it"}', {}, text(/not approved/)),
    shownBy('../src/http/unsloth-page.test.ts', 'decides a call that waits with'),
  ),
]

const sound = Buffer.from('sound')
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

const rest: readonly Row[] = [
  differs(
    247,
    ['its own speech and codecs', 'by a server of speech, through `services` of a model'],
    sent(
      { at: 'tools', upstream: bytes(sound, 'audio/mpeg') },
      post(
        '/v1/audio/speech',
        { model: 'studio', input: 'Hi', voice: 'alloy', speed: 2 },
        body(/^sound$/),
        header('content-type', /^audio\/mpeg/),
        upstreamGot('input', 'Hi'),
        upstreamGot('speed', 2),
      ),
    ),
    post('/v1/audio/speech', { model: 'scripted', input: 'a' }, status(400, /services/)),
  ),
  differs(
    248,
    ['sounds in chats, transcriptions', 'by models that hear, and servers that transcribe'],
    over(saying('ok'), { audio_base64: wav }, upstreamGot('messages.0.content.1.input_audio.data', wav)),
    tiny({ audio_base64: wav }, status(400, /audio/)),
    sent(
      { at: 'tools', upstream: whole({ text: 'hello' }) },
      postForm('/v1/audio/transcriptions', { model: 'studio', file: new File(['x'], 'a.wav') }, has('text', 'hello')),
    ),
  ),
  better(
    249,
    ["errors in OpenAI's envelope", 'with `param`, and codes as SDKs know them'],
    chat({ model: 'zzz' }, status(404), has('error.code', 'model_not_found'), has('error.param', 'model')),
    chat({ top_k: 'x' }, status(400), has('error.param', 'top_k'), has('error.type', 'invalid_request_error')),
    chat({ messages: [user('{"chunks":["a"],"failAfter":0}')] }, status(500), has('error.code', 'engine_failed')),
  ),
  better(
    250,
    ['a prompt that is too long', 'both numbers, and a code'],
    chat(
      { model: 'short', messages: [user('a '.repeat(30))] },
      status(400),
      has('error.code', 'context_length_exceeded'),
      has('error.message', /20.*30/s),
    ),
  ),
  works(
    251,
    'errors in the form of each protocol, and `detail` below /api',
    chat({ model: 'zzz' }, lacks('detail'), has('error.code', 'model_not_found')),
    post(
      '/v1/messages',
      { model: 'scripted', messages: [] },
      has('type', 'error'),
      has('error.type', 'invalid_request_error'),
      lacks('detail'),
    ),
    post(`${api}/messages`, { model: 'scripted', messages: [] }, status(400), has('type', 'error'), has('detail', /messages/)),
    post(`${api}/responses`, { model: 'zzz', input: 'a' }, status(404), has('detail', /zzz/)),
    below('/chat/completions', chat({ model: 'zzz' }, status(404), has('detail', /zzz/))),
  ),
]

/** What chats of Unsloth Studio answer. */
export const unslothReplies: readonly Group[] = [
  { title: 'replies', rows: replies },
  { title: 'calls in texts, and tools of the server', rows: parsed },
  { title: 'sound and errors', rows: rest },
]

import type { Answer } from '../../../support/upstream/upstream.ts'
import { call, calling, deltasThen, fine, pieces, saying } from '../../answers.ts'
import { body, type Check, event, events, has, status, upstreamGot, upstreamLacks } from '../../checks.ts'
import {
  accepts,
  assistant,
  better,
  differs,
  onTools,
  post,
  type Request,
  type Row,
  reads,
  type Step,
  sent,
  soon,
  starts,
  system,
  user,
  works,
} from '../../row.ts'
import { picture, redPixel } from '../../servers.ts'

const message = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/messages', { model: 'scripted', max_tokens: 20, messages: [user('hello')], ...fields }, ...checks)
/** With a model of another server, which answers so. */
const over = (answer: Answer, fields: object, ...checks: readonly Check[]): Step =>
  sent({ upstream: answer }, message({ model: 'vllm', ...fields }, ...checks))
const says = (wanted: unknown) => has('content.0.text', wanted)

const f = { name: 'f', description: 'd', input_schema: { type: 'object', properties: {} } }
const sentTool = { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object', properties: {} } } }
const callOfF = calling(call('f', '{"a":1}'))
const earlierCall = assistant([
  { type: 'text', text: 't' },
  { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
])
const resultOf = (more: object) =>
  user([
    { type: 'text', text: 'so?' },
    { type: 'tool_result', tool_use_id: 't', ...more },
  ])
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: redPixel } }
const sentImage = { type: 'image_url', image_url: { url: picture } }
const stops = { messages: [user('a STOP b')], stop_sequences: ['STOP'] }
const failed = pieces('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', 'data: {"error":{"message":"boom"}}\n\n')
/** A reply that takes an hour, of this session. */
const long: Request = {
  call: 'POST /v1/messages',
  body: {
    ...{ model: 'scripted', max_tokens: 9, session_id: 'of U222' },
    messages: [user(JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 }))],
  },
}
const toolDocs = 'call docs__echo {"text": "so be it"}'

export const messages: readonly Row[] = [
  works(
    '204a',
    "a base URL that ends in `/v1`, for Anthropic's SDK",
    post('/v1/v1/messages', { model: 'scripted', max_tokens: 9, messages: [user('a')] }, has('type', 'message'), says('a')),
  ),
  works(
    205,
    '`model` may be absent',
    post('/v1/messages', { max_tokens: 9, messages: [user('a')] }, has('model', 'scripted'), says('a')),
  ),
  works(
    206,
    '`max_tokens`, required',
    over(saying('a', 'b'), { max_tokens: 1 }, upstreamGot('max_tokens', 1), says('a'), has('stop_reason', 'max_tokens')),
    post('/v1/messages', { model: 'scripted', messages: [user('a')] }, status(400, /max_tokens/)),
  ),
  works(
    207,
    '`messages`',
    over(
      fine,
      { messages: [user('q'), assistant('a'), user('p')] },
      says('ok'),
      upstreamGot('messages', [user('q'), assistant('a'), user('p')]),
    ),
  ),
  works(
    208,
    '`system`',
    ...['x', [{ type: 'text', text: 'x' }]].map((given) =>
      over(fine, { system: given }, upstreamGot('messages', [system('x'), user('hello')])),
    ),
  ),
  works(209, '`tools`', over(callOfF, { tools: [f] }, upstreamGot('tools', [sentTool]), has('content.0.name', 'f'))),
  works(
    210,
    '`tool_choice`',
    over(fine, { tools: [f], tool_choice: { type: 'none' } }, says('ok'), upstreamLacks('tools')),
    over(callOfF, { tools: [f], tool_choice: { type: 'any' } }, upstreamGot('tool_choice', 'required')),
    over(
      callOfF,
      { tools: [f], tool_choice: { type: 'tool', name: 'f' } },
      upstreamGot('tool_choice', { type: 'function', function: { name: 'f' } }),
    ),
    message({ tools: [f], tool_choice: { type: 'tool' } }, status(400, /tool_choice.name is missing/)),
  ),
  works(
    211,
    '`stream`',
    over(saying('a', 'b'), { stream: true }, events('delta.text', 'a', 'b'), body(/"type":"message_stop"\}\n\n$/)),
  ),
  works(212, '`temperature`', over(fine, { temperature: 0.5 }, upstreamGot('temperature', 0.5))),
  works(213, '`top_p`', over(fine, { top_p: 0.5 }, upstreamGot('top_p', 0.5))),
  works(214, '`top_k`', over(fine, { top_k: 5 }, upstreamGot('top_k', 5))),
  works(215, '`stop_sequences`', message(stops, says('a '), has('stop_sequence', 'STOP'))),
  works(
    216,
    '`metadata`, which no model sees',
    accepts(message({ metadata: { user_id: 'u' } }, says('hello'))),
    message({ metadata: 'u' }, status(400, /metadata/)),
  ),
  works(217, '`min_p`', over(fine, { min_p: 0.1 }, upstreamGot('min_p', 0.1))),
  better(
    218,
    ['`repetition_penalty`', 'above 0'],
    over(fine, { repetition_penalty: 0.9 }, upstreamGot('repetition_penalty', 0.9)),
    message({ repetition_penalty: 0 }, status(400, /repetition_penalty/)),
  ),
  works(219, '`presence_penalty`', over(fine, { presence_penalty: 1 }, upstreamGot('presence_penalty', 1))),
  works(
    220,
    '`enable_tools`, where the operator switches tools on',
    onTools(
      message({ model: 'tool-user', messages: [user(toolDocs)], enable_tools: true }, body(/The tool said: [^"]*so be it/)),
    ),
    onTools(message({ model: 'tool-user', messages: [user(toolDocs)] }, body(/docs__echo/), has('stop_reason', 'end_turn'))),
    message({ enable_tools: true }, status(400, /tools/)),
  ),
  works(
    221,
    '`enabled_tools`',
    ...[['docs'], ['web_search']].map((names) =>
      onTools(
        message(
          { model: 'tool-user', messages: [user(toolDocs)], enable_tools: true, enabled_tools: names },
          names[0] === 'docs' ? body(/The tool said: [^"]*so be it/) : body(/^(?!.*The tool said: [^"]*so be it)/s),
        ),
      ),
    ),
    onTools(message({ enable_tools: true, enabled_tools: ['zzz'] }, status(400, /zzz/))),
  ),
  works(
    222,
    '`session_id`',
    starts(reads(long)),
    soon(post('/api/inference/cancel', { session_id: 'of U222' }, has('cancelled', 1))),
    reads(long, has('stop_reason', 'max_tokens')),
  ),
  works(
    223,
    '`cancel_id`',
    post('/api/inference/cancel', { cancel_id: 'of U223' }, has('cancelled', 0)),
    message({ cancel_id: 'of U223' }, has('stop_reason', 'max_tokens'), has('usage.output_tokens', 0)),
    message({ cancel_id: 'of U223' }, says('hello')),
  ),
  works(
    224,
    'blocks text',
    over(fine, { messages: [user([{ type: 'text', text: 'a' }])] }, upstreamGot('messages', [user('a')])),
  ),
  works(
    225,
    'blocks image; `media_type` may be absent',
    ...[
      image,
      { ...image, source: { type: 'base64', data: redPixel } },
      { type: 'image', source: { type: 'url', url: 'SITE/red.png' } },
    ].map((block) => over(fine, { messages: [user([block])] }, upstreamGot('messages.0.content', [sentImage]))),
  ),
  works(
    226,
    'blocks tool_use',
    over(
      fine,
      { tools: [f], messages: [user('q'), earlierCall, resultOf({ content: 'r' })] },
      upstreamGot('messages.1', {
        ...assistant('t'),
        tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      }),
    ),
  ),
  better(
    227,
    ['blocks tool_result', 'with pictures; results come first'],
    over(
      fine,
      { tools: [f], messages: [user('q'), earlierCall, resultOf({ content: [{ type: 'text', text: 'r' }, image] })] },
      upstreamGot('messages.2', { role: 'tool', tool_call_id: 't', content: [{ type: 'text', text: 'r' }, sentImage] }),
      upstreamGot('messages.3', user('so?')),
    ),
  ),
  works(228, '`id`', message({}, has('id', /^msg_\w{16,}$/))),
  works(229, '`type`, `role`', message({}, has('type', 'message'), has('role', 'assistant'))),
  works(230, '`content` with texts', message({}, has('content', [{ type: 'text', text: 'hello' }]))),
  differs(
    231,
    [
      '`content` with calls, whose ids begin with `toolu_`',
      'the id of the server that made the call, so that its result finds it',
    ],
    over(callOfF, { tools: [f] }, has('content.0.id', 'call_0'), has('content.0.input', { a: 1 })),
  ),
  works(232, '`model`', message({}, has('model', 'scripted'))),
  better(
    233,
    ['`stop_reason`', 'with `stop_sequence`'],
    message({}, has('stop_reason', 'end_turn')),
    message(stops, has('stop_reason', 'stop_sequence')),
    over(callOfF, { tools: [f] }, has('stop_reason', 'tool_use')),
    over(deltasThen('length', { content: 'a' }), {}, has('stop_reason', 'max_tokens')),
  ),
  better(
    234,
    ['`stop_sequence`', 'the one that ended the reply'],
    message({ ...stops, stop_sequences: ['###', 'STOP'] }, has('stop_sequence', 'STOP')),
    message({ stop_sequences: ['STOP'] }, has('stop_sequence', null)),
  ),
  works(235, '`usage`', over(fine, {}, has('usage.input_tokens', 3), has('usage.output_tokens', 1))),
  better(
    236,
    ['the order of events', 'an error is an event of its own'],
    over(
      deltasThen('tool_calls', { content: 'a' }, { tool_calls: [call('f', '{}')] }),
      { stream: true, tools: [f] },
      events(
        'type',
        ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
        ...['content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'],
      ),
    ),
    over(
      failed,
      { model: 'openai', stream: true },
      event('error.message', /boom/),
      body(/event: error\ndata: [^\n]*boom[^\n]*\n\n$/),
    ),
  ),
]

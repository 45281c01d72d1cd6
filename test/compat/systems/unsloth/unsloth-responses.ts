import type { Answer } from '../../../support/upstream/upstream.ts'
import { call, calling, deltasThen, fine, pieces, saying } from '../../answers.ts'
import { body, type Check, event, events, has, header, lacks, status, upstreamGot, upstreamLacks } from '../../checks.ts'
import {
  assistant,
  better,
  get,
  post,
  prepares,
  type Request,
  type Row,
  reads,
  type Step,
  sent,
  system,
  user,
  works,
} from '../../row.ts'
import { picture } from '../../servers.ts'

const respond = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/responses', { model: 'scripted', input: 'hello', ...fields }, ...checks)
/** With a model of another server, which answers so. */
const over = (answer: Answer, fields: object, ...checks: readonly Check[]): Step =>
  sent({ upstream: answer }, respond({ model: 'vllm', ...fields }, ...checks))
const says = (wanted: unknown) => has('output.0.content.0.text', wanted)

const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
const sentTool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
const callOfF = calling(call('f', '{}'))
const schema = { type: 'json_schema', name: 'x', schema: { const: 7 } }
const failed = pieces('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', 'data: {"error":{"message":"boom"}}\n\n')

export const responses: readonly Row[] = [
  works(157, '`model` may be absent', post('/v1/responses', { input: 'a' }, has('model', 'scripted'), says('a'))),
  works(158, '`input`', over(fine, {}, says('ok'), upstreamGot('messages', [user('hello')]))),
  works(159, '`instructions`', over(fine, { instructions: 'x' }, upstreamGot('messages', [system('x'), user('hello')]))),
  works(160, '`temperature`', over(fine, { temperature: 0.5 }, upstreamGot('temperature', 0.5), has('temperature', 0.5))),
  works(161, '`top_p`', over(fine, { top_p: 0.5 }, upstreamGot('top_p', 0.5), has('top_p', 0.5))),
  works(
    162,
    '`max_output_tokens`',
    over(saying('a', 'b'), { max_output_tokens: 1 }, upstreamGot('max_tokens', 1), says('a'), has('status', 'incomplete')),
  ),
  works(
    163,
    '`stream`',
    over(
      saying('a', 'b'),
      { stream: true },
      events('delta', 'a', 'b'),
      event('response.output.0.content.0.text', 'ab'),
      body(/"type":"response.completed"[^\n]*\n\n$/),
    ),
  ),
  works(164, '`tools`', over(fine, { tools: [f] }, upstreamGot('tools', [sentTool]), has('tools.0.name', 'f'))),
  works(
    165,
    '`tool_choice`',
    over(fine, { tools: [f], tool_choice: 'none' }, says('ok'), upstreamLacks('tools'), has('tool_choice', 'none')),
    over(callOfF, { tools: [f], tool_choice: 'required' }, upstreamGot('tool_choice', 'required'), has('output.0.name', 'f')),
  ),
  works(
    166,
    '`parallel_tool_calls`',
    over(
      calling(call('f', '{}'), call('f', '{}', 1)),
      { tools: [f], parallel_tool_calls: false },
      upstreamGot('parallel_tool_calls', false),
      has('parallel_tool_calls', false),
      has('output.0.type', 'function_call'),
      lacks('output.1'),
    ),
  ),
  better(
    167,
    ['`previous_response_id`', 'continues a response that is stored'],
    respond({ previous_response_id: 'resp_zzz' }, status(400, /resp_zzz/)),
    over(saying('b'), { input: 'a' }, says('b')),
    over(
      fine,
      { input: 'c', previous_response_id: 'LAST:id' },
      upstreamGot('messages', [user('a'), assistant('b'), user('c')]),
      has('previous_response_id', /^resp_/),
    ),
  ),
  better(
    168,
    ['`store`', 'kept, until it is deleted'],
    respond({ store: false }, has('store', false)),
    get('/v1/responses/LAST:id', status(404)),
    respond({ store: true }, has('store', true)),
    get('/v1/responses/LAST:id', says('hello')),
    reads({ call: 'DELETE /v1/responses/LAST:id' }, has('deleted', true)),
    get('/v1/responses/LAST:id', status(404)),
  ),
  better(
    169,
    ['`metadata`', 'kept, and repeated'],
    respond({ metadata: { a: 'b' } }, has('metadata', { a: 'b' })),
    get('/v1/responses/LAST:id', has('metadata', { a: 'b' })),
  ),
  better(
    170,
    ['`truncation`', '`auto` drops the oldest turns, and names them'],
    ...['auto', 'disabled'].map((truncation) =>
      respond(
        { model: 'short', truncation, input: [user('a '.repeat(30)), assistant('b'), user('c')] },
        ...(truncation === 'auto'
          ? [says('c'), has('truncation', 'auto'), header('x-dragoman-dropped', /input\[0\]/)]
          : [status(400, /context_length_exceeded/)]),
      ),
    ),
  ),
  works(171, '`user`', over(fine, { model: 'openai', user: 'u' }, upstreamGot('user', 'u'))),
  better(
    172,
    ['`text`', 'schemas are enforced'],
    respond({ model: 'dragoman-tiny', text: { format: schema } }, says('7')),
    over(saying('8'), { text: { format: schema } }, status(502, /does not satisfy the schema/)),
  ),
  better(
    173,
    ['`reasoning`', 'the effort reaches the template'],
    over(
      fine,
      { reasoning: { effort: 'low' } },
      upstreamGot('chat_template_kwargs.reasoning_effort', 'low'),
      has('reasoning.effort', 'low'),
    ),
  ),
  works(
    174,
    'messages with further keys',
    over(fine, { input: [{ type: 'message', role: 'user', content: 'a', phase: 'x' }] }, upstreamGot('messages', [user('a')])),
  ),
  better(
    175,
    ['items function_call', 'one turn with their text'],
    over(
      fine,
      {
        input: [
          user('q'),
          assistant('t'),
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'r' },
        ],
      },
      upstreamGot('messages.1', {
        ...assistant('t'),
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      }),
      upstreamGot('messages.2', { role: 'tool', tool_call_id: 'c', content: 'r' }),
    ),
  ),
  better(
    176,
    ['items function_call_output', 'a result without its call is a 400'],
    respond({ input: [user('q'), { type: 'function_call_output', call_id: 'zzz', output: 'r' }] }, status(400, /zzz/)),
  ),
  works(
    177,
    'unknown items',
    over(
      fine,
      { input: [user('q'), { type: 'zzz' }] },
      upstreamGot('messages', [user('q')]),
      header('x-dragoman-ignored', /input\[1\]/),
    ),
  ),
  works(
    178,
    'parts input_text',
    over(fine, { input: [user([{ type: 'input_text', text: 'a' }])] }, upstreamGot('messages', [user('a')])),
  ),
  works(
    179,
    'parts input_image',
    over(
      fine,
      { input: [user([{ type: 'input_image', image_url: picture }])] },
      upstreamGot('messages.0.content.0', { type: 'image_url', image_url: { url: picture } }),
    ),
  ),
  works(
    180,
    'parts output_text',
    over(
      fine,
      { input: [user('q'), assistant([{ type: 'output_text', text: 'a' }]), user('b')] },
      upstreamGot('messages', [user('q'), assistant('a'), user('b')]),
    ),
  ),
  better(
    181,
    ['unknown parts', 'a 400, so that nothing of what a user says is lost'],
    respond({ input: [user([{ type: 'zzz' }])] }, status(400, /zzz/)),
  ),
  works(182, 'flat functions', over(callOfF, { tools: [f] }, upstreamGot('tools', [sentTool]), has('output.0.name', 'f'))),
  works(
    183,
    '`tool_choice` as an object',
    over(
      callOfF,
      { tools: [f, { ...f, name: 'g' }], tool_choice: { type: 'function', name: 'f' } },
      upstreamGot('tool_choice', { type: 'function', function: { name: 'f' } }),
      has('output.0.name', 'f'),
    ),
  ),
]

const whole: Request = {
  call: 'POST /v1/responses',
  body: {
    ...{ model: 'vllm', input: 'hello', instructions: 'x', metadata: { a: 'b' } },
    ...{ temperature: 0.5, top_p: 0.9, max_output_tokens: 9, tools: [f] },
  },
  upstream: deltasThen('stop', { content: 'ok' }),
}
const replyRow = (number: number, expects: string, path: string, wanted: unknown) =>
  works(number, expects, reads(whole, has(path, wanted)))

export const responseReplies: readonly Row[] = [
  replyRow(184, '`id`', 'id', /^resp_\w{16,}$/),
  replyRow(185, '`object`', 'object', 'response'),
  replyRow(186, '`created_at`', 'created_at', (seconds: number) => Math.abs(Date.now() / 1000 - seconds) < 600),
  better(
    187,
    ['`status`', 'also incomplete, failed and cancelled'],
    reads(whole, has('status', 'completed')),
    over(deltasThen('length', { content: 'a' }), {}, has('status', 'incomplete')),
    over(failed, { model: 'openai', stream: true }, event('response.status', 'failed')),
    respond(
      { background: true, input: JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 }) },
      has('status', /queued|in_progress/),
    ),
    post('/v1/responses/LAST:id/cancel', {}, has('status', 'cancelled')),
  ),
  replyRow(188, '`model`', 'model', 'vllm'),
  replyRow(
    189,
    '`output` with a message',
    'output.0',
    (item: { type: string; role: string; status: string; id: string }) =>
      [item.type, item.role, item.status, item.id.slice(0, 4)].join() === 'message,assistant,completed,msg_',
  ),
  works(
    190,
    '`output` with a function_call',
    over(
      callOfF,
      { tools: [f] },
      has(
        'output.0',
        ({ id, ...item }: { id: string; call_id: string }) =>
          id.startsWith('fc_') &&
          JSON.stringify(item) === '{"type":"function_call","status":"completed","call_id":"call_0","name":"f","arguments":"{}"}',
      ),
    ),
  ),
  replyRow(191, '`usage`', 'usage', {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 4,
  }),
  better(
    192,
    ['`error`', 'of responses that failed'],
    reads(whole, has('error', null)),
    over(failed, { model: 'openai', stream: true }, event('response.error.message', /boom/)),
  ),
  better(
    193,
    ['`incomplete_details`', 'why a response is not complete'],
    over(deltasThen('length', { content: 'a' }), {}, has('incomplete_details', { reason: 'max_output_tokens' })),
    over(deltasThen('content_filter', { content: 'a' }), {}, has('incomplete_details', { reason: 'content_filter' })),
  ),
  replyRow(194, '`instructions`', 'instructions', 'x'),
  replyRow(195, '`metadata`', 'metadata', { a: 'b' }),
  replyRow(196, '`temperature`', 'temperature', 0.5),
  replyRow(197, '`top_p`', 'top_p', 0.9),
  replyRow(198, '`max_output_tokens`', 'max_output_tokens', 9),
  works(
    199,
    '`previous_response_id`',
    reads(whole, has('previous_response_id', null)),
    prepares(respond({})),
    respond({ previous_response_id: 'LAST:id' }, has('previous_response_id', /^resp_\w{16,}$/)),
  ),
  works(
    200,
    '`text`',
    reads(whole, has('text', { format: { type: 'text' }, verbosity: 'medium' })),
    respond({ model: 'dragoman-tiny', text: { format: schema } }, has('text.format.schema', { const: 7 })),
  ),
  works(
    201,
    '`tool_choice`',
    reads(whole, has('tool_choice', 'auto')),
    over(
      callOfF,
      { tools: [f], tool_choice: { type: 'function', name: 'f' } },
      has('tool_choice', { type: 'function', name: 'f' }),
    ),
  ),
  replyRow(202, '`tools`', 'tools.0', (tool: typeof f) => tool.type === 'function' && tool.name === 'f'),
  works(
    203,
    '`truncation`',
    reads(whole, has('truncation', 'disabled')),
    respond({ truncation: 'auto' }, has('truncation', 'auto')),
  ),
  better(
    204,
    ['the order of events', "with numbers, as OpenAI's SDKs check them"],
    over(
      saying('ok'),
      { stream: true },
      events(
        'type',
        ...['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added'],
        ...['response.output_text.delta', 'response.output_text.done', 'response.content_part.done'],
        ...['response.output_item.done', 'response.completed'],
      ),
      events('sequence_number', 0, 1, 2, 3, 4, 5, 6, 7, 8),
    ),
  ),
]

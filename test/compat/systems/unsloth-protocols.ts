import { call, calling } from '../answers.ts'
import { body, type Check, event, has, header, status } from '../checks.ts'
import {
  assistant,
  better,
  differs,
  type Group,
  post,
  type Request,
  type Row,
  reads,
  sent,
  shownBy,
  user,
  works,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'

const respond = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/responses', { model: 'scripted', input: 'hello', ...fields }, ...checks)
const answered = has('output', (all: { type: string; content: { text: string }[] }[]) =>
  all.some(({ type, content }) => type === 'message' && /./.test(content[0]?.text ?? '')),
)
const whole: Request = {
  call: 'POST /v1/responses',
  body: {
    model: 'scripted',
    input: 'hello',
    instructions: 'x',
    metadata: { a: 'b' },
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 9,
  },
}
const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }

const responses: readonly Row[] = [
  works(157, '`model` may be absent', post('/v1/responses', { input: 'a' }, has('object', 'response'))),
  works(158, '`input`', respond({}, answered)),
  works(159, '`instructions`', respond({ instructions: 'x' }, answered)),
  works(160, '`temperature`', respond({ temperature: 0.5 }, has('temperature', 0.5))),
  works(161, '`top_p`', respond({ top_p: 0.5 }, has('top_p', 0.5))),
  works(162, '`max_output_tokens`', respond({ max_output_tokens: 1, input: 'a b' }, has('status', 'incomplete'))),
  works(163, '`stream`', respond({ stream: true }, event('type', 'response.completed'))),
  works(164, '`tools`', respond({ tools: [f] }, has('tools.0.name', 'f'))),
  works(165, '`tool_choice`', respond({ tools: [f], tool_choice: 'none' }, has('tool_choice', 'none'))),
  works(166, '`parallel_tool_calls`', respond({ parallel_tool_calls: false }, has('parallel_tool_calls', false))),
  better(
    167,
    ['`previous_response_id`', 'continues a response that is stored'],
    respond({ previous_response_id: 'resp_zzz' }, status(400)),
    shownBy('../src/http/responses/responses.test.ts', 'can be continued as soon as its last event is seen'),
  ),
  better(168, ['`store`', 'kept, across restarts'], respond({ store: true }, has('store', true))),
  better(169, ['`metadata`', 'kept, and repeated'], respond({ metadata: { a: 'b' } }, has('metadata', { a: 'b' }))),
  better(
    170,
    ['`truncation`', '`auto` drops the oldest turns, and names them'],
    respond({ truncation: 'auto' }, has('truncation', 'auto')),
  ),
  works(171, '`user`', respond({ user: 'u' }, answered)),
  better(
    172,
    ['`text`', 'schemas are enforced'],
    respond(
      { model: 'dragoman-tiny', text: { format: { type: 'json_schema', name: 'x', schema: { const: 7 } } } },
      body(/"text":"7"/),
    ),
  ),
  better(
    173,
    ['`reasoning`', 'the effort reaches the template'],
    respond({ model: 'dragoman-tiny', max_output_tokens: 4, reasoning: { effort: 'low' } }, has('reasoning.effort', 'low')),
  ),
  works(
    174,
    'messages with further keys',
    respond({ input: [{ type: 'message', role: 'user', content: 'a', phase: 'x' }] }, answered),
  ),
  better(
    175,
    ['items function_call', 'one turn with their text'],
    respond(
      {
        input: [
          user('q'),
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'r' },
        ],
      },
      status(200),
    ),
  ),
  better(
    176,
    ['items function_call_output', 'a result without its call is a 400'],
    respond({ input: [user('q'), { type: 'function_call_output', call_id: 'zzz', output: 'r' }] }, status(400)),
  ),
  works(177, 'unknown items', respond({ input: [user('q'), { type: 'zzz' }] }, answered, header('x-dragoman-ignored', /input/))),
  works(178, 'parts input_text', respond({ input: [user([{ type: 'input_text', text: 'a' }])] }, answered)),
  works(179, 'parts input_image', respond({ input: [user([{ type: 'input_image', image_url: picture }])] }, body(/image\/png/))),
  works(
    180,
    'parts output_text',
    respond({ input: [user('q'), assistant([{ type: 'output_text', text: 'a' }]), user('b')] }, answered),
  ),
  better(
    181,
    ['unknown parts', 'a 400, so that nothing of what a user says is lost'],
    respond({ input: [user([{ type: 'zzz' }])] }, status(400)),
  ),
  works(182, 'flat functions', respond({ tools: [f] }, has('tools.0.type', 'function'))),
  works(
    183,
    '`tool_choice` as an object',
    respond(
      { model: 'dragoman-tiny', max_output_tokens: 60, tools: [f], tool_choice: { type: 'function', name: 'f' } },
      body(/"type":"function_call"/),
    ),
  ),
]

const replyRows = (names: Readonly<Record<number, readonly [string, string, unknown?]>>) =>
  Object.entries(names).map(([number, [expects, path, wanted]]) => works(number, expects, reads(whole, has(path, wanted))))

const responseReplies: readonly Row[] = [
  ...replyRows({ 184: ['`id`', 'id', /^resp_/], 185: ['`object`', 'object', 'response'], 186: ['`created_at`', 'created_at'] }),
  better(187, ['`status`', 'also incomplete, failed and cancelled'], reads(whole, has('status', 'completed'))),
  ...replyRows({ 188: ['`model`', 'model', 'scripted'], 189: ['`output` with a message', 'output.0.type', 'message'] }),
  works(
    190,
    '`output` with a function_call',
    respond(
      {
        model: 'writes-hermes',
        tools: [f],
        input: JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{}}</tool_call>' }),
      },
      body(/"type":"function_call"/),
    ),
  ),
  ...replyRows({ 191: ['`usage`', 'usage.total_tokens'] }),
  better(192, ['`error`', 'of responses that failed'], reads(whole, has('error', null))),
  better(
    193,
    ['`incomplete_details`', 'why a response is not complete'],
    respond({ max_output_tokens: 1, input: 'a b' }, has('incomplete_details.reason', 'max_output_tokens')),
  ),
  ...replyRows({
    194: ['`instructions`', 'instructions', 'x'],
    195: ['`metadata`', 'metadata', { a: 'b' }],
    196: ['`temperature`', 'temperature', 0.5],
    197: ['`top_p`', 'top_p', 0.9],
    198: ['`max_output_tokens`', 'max_output_tokens', 9],
    199: ['`previous_response_id`', 'previous_response_id', null],
    200: ['`text`', 'text'],
    201: ['`tool_choice`', 'tool_choice'],
    202: ['`tools`', 'tools'],
    203: ['`truncation`', 'truncation'],
  }),
  better(
    204,
    ['the order of events', "with numbers, as OpenAI's SDKs check them"],
    respond(
      { stream: true },
      event('type', 'response.created'),
      event('type', 'response.output_text.delta'),
      event('sequence_number', 0),
    ),
  ),
]

const message = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/messages', { model: 'scripted', max_tokens: 20, messages: [user('hello')], ...fields }, ...checks)
const g = { name: 'f', description: 'd', input_schema: { type: 'object', properties: {} } }
const says = has('content.0.text', /./)

const messages: readonly Row[] = [
  works(
    '204a',
    "a base URL that ends in `/v1`, for Anthropic's SDK",
    post('/v1/v1/messages', { model: 'scripted', max_tokens: 9, messages: [user('a')] }, has('type', 'message')),
  ),
  works(205, '`model` may be absent', post('/v1/messages', { max_tokens: 9, messages: [user('a')] }, has('type', 'message'))),
  works(
    206,
    '`max_tokens`, required',
    message({}, says),
    post('/v1/messages', { model: 'scripted', messages: [user('a')] }, status(400, /max_tokens/)),
  ),
  works(207, '`messages`', message({}, has('content.0.text', 'hello'))),
  works(208, '`system`', message({ system: [{ type: 'text', text: 'x' }] }, says)),
  works(209, '`tools`', message({ tools: [g] }, says)),
  works(
    210,
    '`tool_choice`',
    message({ tools: [g], tool_choice: { type: 'none' } }, says),
    message({ tools: [g], tool_choice: { type: 'tool' } }, status(400, /missing/)),
  ),
  works(211, '`stream`', message({ stream: true }, event('type', 'message_stop'))),
  works(212, '`temperature`', message({ temperature: 0.5 }, says)),
  works(213, '`top_p`', message({ top_p: 0.5 }, says)),
  works(214, '`top_k`', message({ top_k: 5 }, says)),
  works(
    215,
    '`stop_sequences`',
    message({ messages: [user('a STOP b')], stop_sequences: ['STOP'] }, has('stop_sequence', 'STOP')),
  ),
  works(216, '`metadata`', message({ metadata: { user_id: 'u' } }, says)),
  works(217, '`min_p`', message({ min_p: 0.1 }, says)),
  better(218, ['`repetition_penalty`', 'above 0'], message({ repetition_penalty: 0.9 }, says)),
  works(219, '`presence_penalty`', message({ presence_penalty: 1 }, says)),
  works(
    220,
    '`enable_tools`, where the operator switches tools on',
    message({ enable_tools: true }, status(400, /tools/)),
    shownBy('e2e/clients/server-tools.test.ts', 'the Anthropic SDK'),
  ),
  works(221, '`enabled_tools`', message({ enable_tools: true, enabled_tools: ['python'] }, status(400, /tools/))),
  works(222, '`session_id`', message({ session_id: 's' }, says)),
  works(223, '`cancel_id`', message({ cancel_id: 'c' }, says)),
  works(224, 'blocks text', message({ messages: [user([{ type: 'text', text: 'a' }])] }, has('content.0.text', 'a'))),
  works(
    225,
    'blocks image; `media_type` may be absent',
    message(
      { messages: [user([{ type: 'image', source: { type: 'base64', data: redPixel } }])] },
      has('content.0.text', /image\/png/),
    ),
  ),
  works(
    226,
    'blocks tool_use',
    message(
      {
        tools: [g],
        messages: [
          user('q'),
          assistant([{ type: 'tool_use', id: 't', name: 'f', input: {} }]),
          user([{ type: 'tool_result', tool_use_id: 't', content: 'r' }]),
        ],
      },
      status(200),
    ),
  ),
  better(
    227,
    ['blocks tool_result', 'with pictures and `is_error`'],
    message(
      {
        tools: [g],
        messages: [
          user('q'),
          assistant([{ type: 'tool_use', id: 't', name: 'f', input: {} }]),
          user([{ type: 'tool_result', tool_use_id: 't', is_error: true, content: [{ type: 'text', text: 'r' }] }]),
        ],
      },
      status(200),
    ),
  ),
  works(228, '`id`', message({}, has('id', /^msg_/))),
  works(229, '`type`, `role`', message({}, has('type', 'message'), has('role', 'assistant'))),
  works(230, '`content` with texts', message({}, has('content.0.type', 'text'))),
  differs(
    231,
    [
      '`content` with calls, whose ids begin with `toolu_`',
      'the id of the server that made the call, so that its result finds it',
    ],
    sent(
      { upstream: calling(call('f', '{}')) },
      message({ model: 'vllm', tools: [g] }, has('content.0.type', 'tool_use'), has('content.0.id', /./)),
    ),
  ),
  works(232, '`model`', message({}, has('model', 'scripted'))),
  better(233, ['`stop_reason`', 'with `stop_sequence`'], message({}, has('stop_reason', 'end_turn'))),
  better(
    234,
    ['`stop_sequence`', 'the one that ended the reply'],
    message({ messages: [user('a STOP b')], stop_sequences: ['STOP'] }, has('stop_reason', 'stop_sequence')),
  ),
  works(235, '`usage`', message({}, has('usage.output_tokens'))),
  better(
    236,
    ['the order of events', 'an error is an event of its own'],
    message(
      { stream: true },
      event('type', 'message_start'),
      event('type', 'content_block_delta'),
      event('type', 'message_delta'),
    ),
  ),
]

/** Unsloth Studio's Responses and Messages. */
export const unslothProtocols: readonly Group[] = [
  { title: 'Responses', rows: responses },
  { title: 'replies of Responses', rows: responseReplies },
  { title: 'Messages', rows: messages },
]

import { fine, pieces, whole } from '../answers.ts'
import { body, type Check, has, lacks, status, text, upstreamGot, upstreamGotEach } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  cleansUp,
  differs,
  type Group,
  get,
  over,
  post,
  prepares,
  type Row,
  reads,
  refused,
  sent,
  shownBy,
  user,
  works,
} from '../row.ts'
import { overStack, stack } from './stack-steps.ts'

const errorAfter = (error: object) =>
  pieces('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', `data: ${JSON.stringify({ error })}\n\n`)
const tooLong = whole({ error: { message: 'too long', code: 'context_length_exceeded' } }, 400)

const failures: readonly Row[] = [
  works(
    97,
    'errors of servers keep their meaning',
    ...[401, 403].map((code) => over(whole({ error: { message: 'x' } }, code), {}, status(503, /does not accept our key/))),
    over(whole({ error: { message: 'no model x' } }, 404), {}, status(503, /no model x/)),
    over(whole({ error: { message: 'x' } }, 413), {}, status(413, /"message":"x"/)),
    over(whole({ error: { message: 'x' } }, 422), {}, status(400, /"message":"x"/)),
    over(whole({ error: { message: 'x' } }, 408), {}, status(504, /timeout/)),
    over(errorAfter({ message: 'boom' }), { model: 'openai' }, status(502, /boom/)),
  ),
  works(
    98,
    '`context_length_exceeded` of a server',
    over(tooLong, {}, status(400, /"code":"context_length_exceeded"/)),
    overStack(tooLong, {}, status(400, /"detail":"too long"/)),
  ),
  differs(
    99,
    ['`param` and `code` of a server', '`param` is kept; `code` is one of this server, the same for all engines'],
    over(
      whole({ error: { message: 'x', param: 'messages', code: 'invalid_value' } }, 400),
      {},
      status(400, /"message":"x"/),
      has('error.param', 'messages'),
      has('error.code', 'invalid_request'),
    ),
  ),
  differs(
    100,
    [
      'usage where the server counts nothing',
      'prompts count 0 where the server has no tokenizer: a guess would be charged like a count; outputs count their pieces',
    ],
    over(
      pieces('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n'),
      {},
      text('a'),
      has('usage.prompt_tokens', 0),
      has('usage.completion_tokens', 1),
    ),
  ),
  works(
    101,
    'the envelope `{"error":{"detail"}}`',
    stack({ model_id: 'zzz' }, status(404), has('error.detail.errors.0.loc', ['model_id'])),
    stack({ messages: 1 }, status(400), has('error.detail.errors.0.loc', ['messages'])),
    sent({ key: 'none' }, stack({}, status(401), has('error.detail', /key/))),
    overStack(errorAfter({ message: 'boom' }), { model_id: 'openai' }, status(502), has('error.detail', /boom/)),
    overStack(
      errorAfter({ message: 'boom' }),
      { model_id: 'openai', stream: true },
      body(/"error":\{"detail":"[^"]*boom","message":"[^"]*boom"\}\}\n\n$/),
    ),
  ),
  better(
    102,
    ['a client leaves', 'the request to the server ends with it'],
    shownBy('e2e/engines/engine-remote-streams.test.ts', 'is left after the hang-up'),
  ),
]

const batch = (path: string, fields: object, ...checks: readonly Check[]) =>
  post(path, { model_id: 'scripted', ...fields }, ...checks)
/** Clients up to this version read llama-stack's own list of models. */
const asOldClient = { headers: { 'x-llamastack-client-version': '0.3.0' } }

const routes: readonly Row[] = [
  works(
    103,
    'POST /v1/inference/chat-completion',
    stack(
      {},
      has('completion_message', { role: 'assistant', content: 'hello', stop_reason: 'end_of_turn', tool_calls: [] }),
      has('metrics.2', { metric: 'total_tokens', value: 2, unit: 'tokens' }),
    ),
  ),
  works(
    104,
    'POST /v1/inference/completion',
    post(
      '/v1/inference/completion',
      { model_id: 'scripted', content: 'hello' },
      has('content', 'hello'),
      has('stop_reason', 'end_of_turn'),
    ),
    post(
      '/v1/inference/completion',
      { model_id: 'scripted', content: [{ type: 'text', text: 'hello' }], stream: true },
      body(/^data: \{"delta":"hello"\}\n\ndata: \{"delta":"","stop_reason":"end_of_turn"/),
    ),
  ),
  works(
    105,
    'POST /v1/inference/embeddings',
    post(
      '/v1/inference/embeddings',
      { model_id: 'scripted', contents: ['a', { type: 'text', text: 'b' }], output_dimension: 8 },
      has('embeddings', (rows: readonly (readonly number[])[] | undefined) => rows?.map((row) => row.length).join() === '8,8'),
    ),
  ),
  works(
    106,
    'POST /v1/batch-inference/completion, side by side',
    ...['/v1/batch-inference/completion', '/v1/inference/batch-completion'].map((path) =>
      batch(path, { content_batch: ['a', 'b'] }, has('batch.0.content', 'a'), has('batch.1.content', 'b')),
    ),
  ),
  works(
    107,
    'POST /v1/batch-inference/chat-completion, side by side',
    ...['/v1/batch-inference/chat-completion', '/v1/inference/batch-chat-completion'].map((path) =>
      batch(
        path,
        { messages_batch: [[user('a')], [user('b')]] },
        has('batch.0.completion_message.content', 'a'),
        has('batch.1.completion_message.content', 'b'),
      ),
    ),
    shownBy('e2e/server/batches.test.ts', 'the items of one request run side by side'),
  ),
  refused(
    108,
    ['POST and DELETE /v1/models', 'a 405 that names the setting, and the route that loads models'],
    sent(asOldClient, post('/v1/models', { model_id: 'x' }, status(405, /`models` in the configuration.*api\/inference\/load/))),
    reads({ call: 'DELETE /v1/models/scripted' }, status(405, /`models` in the configuration.*api\/inference\/load/)),
    get('/v1/models/scripted', has('id', 'scripted')),
  ),
  works(
    109,
    'GET /v1/health, /v1/version',
    sent({ key: 'none' }, get('/v1/health', has('status', 'OK'))),
    sent({ key: 'none' }, get('/v1/version', has('version', /^\d+\.\d+\.\d+/))),
  ),
  works(
    110,
    'GET /v1/inspect/routes',
    get(
      '/v1/inspect/routes',
      ...['/v1/inference/chat-completion', '/v1/openai/v1/chat/completions', '/v1/models/{id}'].map((route) =>
        has('data', (all: readonly { readonly route: string }[] | undefined) => all?.some((one) => one.route === route) === true),
      ),
    ),
  ),
  works(
    111,
    'the prefix /v1/openai/v1',
    post('/v1/openai/v1/chat/completions', { model: 'scripted', messages: [user('a')] }, text('a')),
    post('/v1/openai/v1/completions', { model: 'scripted', prompt: 'a' }, text('a')),
    post('/v1/openai/v1/embeddings', { model: 'scripted', input: 'a' }, has('data.0.embedding.63', Number.isFinite)),
    post('/v1/openai/v1/responses', { model: 'scripted', input: 'a', store: false }, has('output.0.content.0.text', 'a')),
    get('/v1/openai/v1/models', has('data.0.id', 'scripted')),
  ),
  works(
    '111a',
    'streams of /v1/openai/v1 end without `[DONE]`',
    post(
      '/v1/openai/v1/chat/completions',
      { model: 'scripted', messages: [user('a')], stream: true },
      body(/"finish_reason":"stop"[^\n]*\n\n$/),
    ),
    chat({ stream: true }, body(/\n\ndata: \[DONE\]\n\n$/)),
  ),
  works(
    112,
    'stored chat completions',
    chat({ metadata: { row: 'S112' } }, text('hello')),
    get('/v1/chat/completions?metadata[row]=S112', has('data', [])),
    chat({ store: true, metadata: { row: 'S112' } }, text('hello')),
    get('/v1/chat/completions/LAST:id', text('hello'), has('metadata', { row: 'S112' })),
    get('/v1/openai/v1/chat/completions?metadata[row]=S112', has('data.0.input_messages', [user('hello')])),
    asUser(get('/v1/chat/completions/LAST:data.0.id', status(404, /Chat completion with id/))),
    get('/v1/chat/completions?metadata[row]=S112', has('data.0.metadata.row', 'S112')),
    cleansUp(reads({ call: 'DELETE /v1/chat/completions/LAST:data.0.id' }, has('deleted', true))),
  ),
  works(
    '112a',
    'all are stored, with `storage.chatCompletions`',
    shownBy('../src/http/routes/openai/completions.test.ts', 'is there without store where all are kept, but not with false'),
  ),
  refused(
    113,
    ['moderations', 'their categories are those of one model of OpenAI; `POST /v1/decisions` asks any model'],
    post('/v1/moderations', { input: 'a' }, status(400, /does not speak OpenAI's .*moderations/)),
  ),
  works(
    114,
    'responses: create, get, list, delete',
    post('/v1/responses', { model: 'scripted', input: 'a', metadata: { row: 'S114' } }, has('output.0.content.0.text', 'a')),
    get('/v1/responses/LAST:id', has('output.0.content.0.text', 'a'), has('metadata.row', 'S114')),
    post(
      '/v1/responses',
      { model: 'scripted', input: 'b', previous_response_id: 'LAST:id' },
      has('output.0.content.0.text', 'b'),
      has('previous_response_id', /^resp_/),
    ),
    get('/v1/responses?limit=2&order=desc', has('data.1.metadata.row', 'S114'), lacks('data.2')),
    get('/v1/responses/LAST:data.1.id/input_items', has('data.0.content.0.text', 'a')),
    get('/v1/responses?limit=2&order=desc', has('data.1.metadata.row', 'S114')),
    reads({ call: 'DELETE /v1/responses/LAST:data.1.id' }, has('deleted', true)),
    get('/v1/responses/LAST:id', status(404)),
  ),
  works(
    115,
    '`model_type` of a model that does not chat',
    prepares(post('/v1/rerank', { model: 'ranker', query: 'a', documents: ['a'] })),
    sent(asOldClient, get('/v1/models/ranker', has('model_type', 'rerank'))),
    sent(asOldClient, get('/v1/models/scripted', has('model_type', 'llm'))),
  ),
  works(
    116,
    'GET /v1/models, /v1/models/ID',
    get('/v1/models', has('data.0.id', 'scripted'), has('data.0.object', 'model')),
    sent(asOldClient, get('/v1/models', has('data.0.identifier', 'scripted'), has('data.0.type', 'model'))),
    get('/v1/models/scripted', has('id', 'scripted')),
    sent(asOldClient, get('/v1/models/short', has('identifier', 'short'), has('metadata', { context_length: 20 }))),
    get('/v1/models/zzz', status(404, /zzz/)),
  ),
  works(
    '116a',
    'the provider of a model, in `custom_metadata`',
    sent(
      asOldClient,
      get(
        '/v1/models',
        has('data.1.custom_metadata', {
          model_type: 'llm',
          provider_id: 'short',
          provider_resource_id: 'short',
          context_length: 20,
        }),
      ),
    ),
  ),
  works(
    117,
    'GET /v1/providers, and their health',
    get('/v1/providers', has('data.0.provider_id', 'scripted'), has('data.0.health', { status: 'OK', message: 'ready' })),
    get('/v1/providers/vllm', has('provider_type', 'remote::vllm'), has('health.status', 'OK'), has('config', {})),
  ),
  works(
    118,
    'reranking',
    post(
      '/v1/rerank',
      { model: 'ranker', query: 'a', documents: ['b', 'a'], top_n: 1 },
      has('results.0.index', 1),
      has('results.0.relevance_score', (score: number) => score > 0 && score < 1),
      lacks('results.1'),
    ),
  ),
  works(
    119,
    'chats with a server that has completions only',
    sent(
      {
        upstream: whole({
          id: 'x',
          object: 'text_completion',
          choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        }),
      },
      stack(
        { model_id: 'completions' },
        has('completion_message.content', 'ok'),
        upstreamGot('prompt', /^<\|user\|>hello\n<\|assistant\|>/),
      ),
    ),
  ),
  works(
    120,
    'an error in a stream is the affair of its request',
    over(errorAfter({ message: 'boom' }), {}, status(502, /boom/), upstreamGotEach('model', 'up', 'up')),
    over(fine, {}, text('ok')),
  ),
  works(
    121,
    '`responses.list()` of its clients',
    ...['a', 'b', 'c'].map((input) => prepares(post('/v1/responses', { model: 'scripted', input }))),
    get('/v1/responses?limit=2', has('object', 'list'), has('data.1.object', 'response'), has('has_more', true), lacks('data.2')),
  ),
  works(
    122,
    '`inference.rerank()` of its clients',
    ...['/v1/inference/rerank', '/v1alpha/inference/rerank'].map((path) =>
      post(
        path,
        { model: 'ranker', query: 'a', items: ['b', { type: 'text', text: 'a' }], max_num_results: 1 },
        has('data.0.index', 1),
        has('data.0.relevance_score', (score: number) => score > 0 && score < 1),
        lacks('data.1'),
      ),
    ),
  ),
  refused(
    127,
    ['agents, safety, shields, tools, vector stores, prompts', '501 or 400 with the reason: those are services beside inference'],
    ...['agents', 'shields', 'tools', 'prompts'].map((name) =>
      get(`/v1/${name}`, status(501, new RegExp(`does not speak llama-stack's APIs besides inference \\(/v1/${name}\\)`))),
    ),
    get('/v1/vector_stores', status(400, /does not speak OpenAI's .*vector stores/)),
  ),
  works(
    128,
    '`top_logprobs` above what a server has',
    over(fine, { model: 'together', logprobs: true, top_logprobs: 6 }, status(400, /at most 1 top.*"param":"top_logprobs"/)),
  ),
  refused(
    129,
    ['content as a list of plain texts', 'not in the types of llama-stack either: send parts'],
    stack({ messages: [user(['a', 'b'])] }, status(400, /"messages",0,"content",0/)),
  ),
]

/** Routes of llama-stack, and errors of servers. */
export const stackRoutes: readonly Group[] = [
  { title: 'errors of servers', rows: failures },
  { title: 'routes', rows: routes },
]

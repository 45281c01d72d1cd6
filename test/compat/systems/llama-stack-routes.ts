import { fine, pieces, whole } from '../answers.ts'
import { body, type Check, has, status, text, upstreamGot } from '../checks.ts'
import { better, chat, differs, type Group, get, over, post, type Row, refused, sent, shownBy, user, works } from '../row.ts'
import { stack } from './stack-steps.ts'

const errorAfter = (error: object) =>
  pieces('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', `data: ${JSON.stringify({ error })}\n\n`)

const failures: readonly Row[] = [
  works(
    97,
    'errors of servers keep their meaning',
    over(whole({ error: { message: 'x' } }, 401), {}, status(503)),
    over(whole({ error: { message: 'x' } }, 422), {}, status(400)),
    over(errorAfter({ message: 'boom' }), { model: 'openai' }, status(502, /boom/)),
  ),
  works(
    98,
    '`context_length_exceeded` of a server',
    over(
      whole({ error: { message: 'too long', code: 'context_length_exceeded' } }, 400),
      {},
      status(400, /context_length_exceeded/),
    ),
  ),
  works(
    99,
    '`param` and `code` of a server',
    over(
      whole({ error: { message: 'x', param: 'messages', code: 'invalid_value' } }, 400),
      {},
      status(400),
      has('error.param', 'messages'),
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
    stack({ model_id: 'zzz' }, has('error.detail')),
    stack({ messages: 1 }, has('error.detail')),
  ),
  better(
    102,
    ['a client leaves', 'the request to the server ends with it'],
    shownBy('e2e/cancel/cancel-upstream.test.ts', 'closes the connection to it'),
  ),
]

const batch = (path: string, fields: object, ...checks: readonly Check[]) =>
  post(path, { model_id: 'scripted', ...fields }, ...checks)

const routes: readonly Row[] = [
  works(103, 'POST /v1/inference/chat-completion', stack({}, has('completion_message.content', 'hello'))),
  works(
    104,
    'POST /v1/inference/completion',
    post('/v1/inference/completion', { model_id: 'scripted', content: 'hello' }, has('content', 'hello')),
  ),
  works(
    105,
    'POST /v1/inference/embeddings',
    post('/v1/inference/embeddings', { model_id: 'scripted', contents: ['a'] }, has('embeddings.0.63')),
  ),
  works(
    106,
    'POST /v1/batch-inference/completion, side by side',
    batch('/v1/batch-inference/completion', { content_batch: ['a', 'b'] }, has('batch.1.content', 'b')),
  ),
  works(
    107,
    'POST /v1/batch-inference/chat-completion, side by side',
    batch(
      '/v1/batch-inference/chat-completion',
      { messages_batch: [[user('a')], [user('b')]] },
      has('batch.1.completion_message.content', 'b'),
    ),
    shownBy('e2e/server/batches.test.ts', 'the items of one request run side by side'),
  ),
  refused(
    108,
    ['POST and DELETE /v1/models', 'a 405 that names the setting, and the route that loads models'],
    post('/v1/models', { model_id: 'x' }, status(405, /api\/inference\/load/)),
    sent({ call: 'DELETE /v1/models/x' }, get('/x', status(405))),
  ),
  works(109, 'GET /v1/health, /v1/version', get('/v1/health', has('status')), get('/v1/version', has('version'))),
  works(110, 'GET /v1/inspect/routes', get('/v1/inspect/routes', has('data.0.route'))),
  works(
    111,
    'the prefix /v1/openai/v1',
    post('/v1/openai/v1/chat/completions', { model: 'scripted', messages: [user('a')] }, text('a')),
    get('/v1/openai/v1/models', has('data.0.id')),
  ),
  works(
    '111a',
    'streams of /v1/openai/v1 end without `[DONE]`',
    post(
      '/v1/openai/v1/chat/completions',
      { model: 'scripted', messages: [user('a')], stream: true },
      body(/"finish_reason":"stop"[^\n]*\n\n$/),
    ),
  ),
  works(112, 'stored chat completions', chat({ store: true }, text('hello')), get('/v1/chat/completions', has('data.0.id'))),
  works(
    '112a',
    'all are stored, with `storage.chatCompletions`',
    shownBy('../src/http/routes/openai/completions.test.ts', 'is there without store where all are kept'),
  ),
  refused(
    113,
    ['moderations', 'their categories are those of one model of OpenAI; `POST /v1/decisions` asks any model'],
    post('/v1/moderations', { input: 'a' }, status(400)),
  ),
  works(
    114,
    'responses: create, get, list, delete',
    post('/v1/responses', { model: 'scripted', input: 'a' }, has('id')),
    get('/v1/responses', has('data')),
  ),
  works(
    115,
    '`model_type` of a model that does not chat',
    post('/v1/rerank', { model: 'ranker', query: 'a', documents: ['a'] }),
    sent({ headers: { 'x-llamastack-client-version': '0.3.0' } }, get('/v1/models/ranker', has('model_type', 'rerank'))),
  ),
  works(
    116,
    'GET /v1/models, /v1/models/ID',
    get('/v1/models', has('data.0.id')),
    sent({ headers: { 'x-llamastack-client-version': '0.3.0' } }, get('/v1/models', has('data.0.identifier'))),
    get('/v1/models/scripted', has('id', 'scripted')),
  ),
  works(
    '116a',
    'the provider of a model, in `custom_metadata`',
    sent(
      { headers: { 'x-llamastack-client-version': '0.3.0' } },
      get('/v1/models', has('data.0.custom_metadata.provider_id'), has('data.0.custom_metadata.model_type', 'llm')),
    ),
  ),
  works(117, 'GET /v1/providers, and their health', get('/v1/providers', has('data.0.provider_id'), has('data.0.health'))),
  works(
    118,
    'reranking',
    post('/v1/rerank', { model: 'ranker', query: 'a', documents: ['a', 'b'] }, has('results.0.relevance_score')),
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
      chat({ model: 'completions' }, text('ok'), upstreamGot('prompt', /<\|user\|>hello/)),
    ),
  ),
  works(
    120,
    'an error in a stream is the affair of its request',
    over(errorAfter({ message: 'boom' }), {}, status(502, /boom/)),
    over(fine, {}, text('ok')),
  ),
  works(121, '`responses.list()` of its clients', get('/v1/responses?limit=2', has('object', 'list'))),
  works(
    122,
    '`inference.rerank()` of its clients',
    ...['/v1/inference/rerank', '/v1alpha/inference/rerank'].map((path) =>
      post(path, { model: 'ranker', query: 'a', items: ['a', 'b'] }, has('data.0.relevance_score')),
    ),
  ),
  refused(
    127,
    ['agents, safety, shields, tools, vector stores, prompts', '501 or 400 with the reason: those are services beside inference'],
    get('/v1/agents', status(501)),
    get('/v1/shields', status(501)),
  ),
  works(
    128,
    '`top_logprobs` above what a server has',
    over(fine, { model: 'together', logprobs: true, top_logprobs: 6 }, status(400, /"param":"top_logprobs"/)),
  ),
  refused(
    129,
    ['content as a list of plain texts', 'not in the types of llama-stack either: send parts'],
    stack({ messages: [user(['a', 'b'])] }, status(400)),
  ),
]

/** Routes of llama-stack, and errors of servers. */
export const stackRoutes: readonly Group[] = [
  { title: 'errors of servers', rows: failures },
  { title: 'routes', rows: routes },
]

import { body, type Check, event, has, header, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  complete,
  differs,
  elsewhere,
  get,
  post,
  type Row,
  reads,
  refused,
  type System,
  sent,
  shownBy,
  tiny,
  user,
  withoutKey,
  works,
} from '../row.ts'
import { mlcClients } from './mlc-clients.ts'
import { mlcFields } from './mlc-fields.ts'
import { mlcPrompts } from './mlc-prompts.ts'
import { mlcReplies } from './mlc-replies.ts'
import { embed, noPeers } from './mlc-steps.ts'
import { counting } from './shown-steps.ts'

const chatted = () => elsewhere(post('/llm/v1/chat/completions', { model: 'any', messages: [user('a b c')] }, text('a b c')))
/** A route for debugging, which is there where the operator wants it. */
const debugs = (name: string, ...checks: readonly Check[]) => elsewhere(post(`/llm/debug/${name}`, { model: 'any' }, ...checks))
const notWithout = (name: string) => post(`/debug/${name}`, { model: 'scripted' }, status(404, /server\.debug: on/))

const routes: readonly Row[] = [
  better(
    1,
    ['GET /v1/models', 'with the state of each'],
    get('/v1/models', has('object', 'list'), has('data.0.id', 'scripted'), has('data.0.state', 'ready')),
  ),
  differs(
    '1a',
    ['`owned_by: MLC-LLM`', '`dragoman`, or the owner that a server behind it lists'],
    get('/v1/models', has('data.0.owned_by', 'dragoman')),
    shownBy('../src/dialect/openai/models.test.ts', 'a model that a server lists has what its list says'),
  ),
  works(
    2,
    'POST /v1/chat/completions',
    chat({}, text('hello'), has('id', /^chatcmpl-[0-9a-f]{32}$/), has('object', 'chat.completion'), has('model', 'scripted')),
  ),
  works(
    3,
    'POST /v1/completions',
    complete({}, has('choices.0.text', 'hello'), has('id', /^cmpl-/), has('object', 'text_completion')),
  ),
  works(
    4,
    'POST /v1/embeddings',
    embed(
      { input: ['a b', 'a b', 'c'] },
      has('data', (data: { embedding: number[] }[]) => {
        const [one, same, other] = data.map(({ embedding }) => embedding.join())
        return one === same && one !== other && data[0]?.embedding.length === 64
      }),
    ),
  ),
  differs(
    5,
    ['GET /metrics', 'for keys with the scope `metrics`, where the server has keys'],
    chat({ model: 'short' }, text('hello')),
    sent({ key: 'reader' }, get('/metrics', body(/^dragoman_output_tokens_total\{[^}]*model="short"[^}]*\} [1-9]/m))),
    asUser(get('/metrics', status(403))),
  ),
  differs(
    '5a',
    ['metrics such as `engine_prefill_time_sum`', 'the same is measured under names of its own'],
    chat({ model: 'short' }, text('hello')),
    get('/metrics', body(/^dragoman_time_to_first_token_seconds_count\{[^}]*model="short"[^}]*\} [1-9]/m)),
  ),
  ...(['prep_recv', 'remote_send', 'start_generate'] as const).map((name, index) =>
    refused(
      6 + index,
      [`POST /microserving/${name}`, noPeers],
      post(`/microserving/${name}`, {}, status(404, /whole request/), has('error.code', 'unknown_url')),
    ),
  ),
  works(
    9,
    'POST /debug/dump_event_trace, with `server.debug`',
    chatted(),
    debugs(
      'dump_event_trace',
      has('', (events: { name: string; ph: string }[]) => events.some(({ name }) => name === 'decode')),
    ),
    notWithout('dump_event_trace'),
  ),
  refused(
    10,
    ['POST /debug/cuda_profiler_start', 'nsys profiles the process without the help of a route'],
    post('/debug/cuda_profiler_start', {}, status(404, /nsys profile/)),
    post('/debug/cuda_profiler_stop', {}, status(404, /nsys profile/)),
  ),
  works(
    11,
    'POST /debug/dump_engine_metrics',
    chatted(),
    debugs(
      'dump_engine_metrics',
      has('metrics.completion_tokens_sum', (count: number) => count >= 3),
      has('metrics.last_finished_request.completion_tokens', 3),
    ),
    notWithout('dump_engine_metrics'),
  ),
  works(
    12,
    'POST /debug/reset_engine',
    chatted(),
    debugs('reset_engine', has('', {})),
    debugs('dump_engine_metrics', has('metrics.completion_tokens_sum', 0)),
    notWithout('reset_engine'),
  ),
]

const _again = (words: string) => tiny({ messages: [user(words)] }, ...[])

const server: readonly Row[] = [
  differs(
    13,
    ['the only engine answers any `model`', '404, unless it has the alias `*`; replies have the id that served'],
    chat({ model: 'dist/llama' }, status(404, /model_not_found/)),
    elsewhere(post('/llm/v1/chat/completions', { model: 'dist/llama', messages: [user('x')] }, has('model', 'any'), text('x'))),
  ),
  works(
    14,
    '`model` may be absent',
    post('/v1/chat/completions', { messages: [user('x')] }, has('model', 'scripted'), text('x')),
    post('/v1/completions', { prompt: 'x' }, has('model', 'scripted'), text('x')),
    post(
      '/v1/embeddings',
      { input: 'a' },
      has('model', 'scripted'),
      has('data.0.embedding.63', (value: unknown) => value !== undefined),
    ),
  ),
  works(
    15,
    'several models',
    chat({ model: 'short' }, has('model', 'short'), text('hello')),
    counting({}, has('model', 'dragoman-tiny'), text(/^1, 2/)),
  ),
  differs(
    16,
    ['modes local, interactive, server', '`slots` and `contextLength` of each model'],
    get('/props?model=dragoman-tiny', has('total_slots', 4), has('default_generation_settings.n_ctx', 4096)),
    get('/props?model=narrow', has('total_slots', 1)),
    get('/v1/models/short', has('context_length', 20)),
  ),
  works(
    17,
    'prefixes of prompts are reused',
    tiny(
      { messages: [user('the same words again and again')] },
      has('usage.prompt_tokens', (count: number) => count > 10),
    ),
    tiny(
      { messages: [user('the same words again and then')] },
      has('usage.prompt_tokens_details.cached_tokens', (count: number) => count > 5),
    ),
  ),
  refused(
    18,
    [
      'prefix reuse can be switched off',
      'a reused prefix changes no text; a reload forgets it, and so does /debug/reset_engine with `server.debug: on`',
    ],
    post('/debug/reset_engine', { model: 'dragoman-tiny' }, status(404, /server\.debug/)),
  ),
  works(
    19,
    'long prompts are read in steps',
    tiny(
      { stream: true, return_progress: true, messages: [user('the sky is blue and '.repeat(100))] },
      event('prompt_progress.total', (count: number) => count > 700),
      event('prompt_progress.processed', (count: number) => count > 30 && count < 700),
    ),
  ),
  differs(
    20,
    ['speculative decoding', 'with a small model, n-grams, MTP or EAGLE-3, also behind llama-server; llama.cpp has no Medusa'],
    shownBy('e2e/engines/speculation-llama.test.ts', 'that is the model itself drafts what the model says'),
    shownBy('e2e/engines/speculation-llama.test.ts', 'counts what it drafted, and what the model chose too'),
  ),
  better(
    21,
    [
      'the API key covers all routes',
      'but the page, /docs, /openapi.json, /health, /ready and what names the server, which have no secrets',
    ],
    ...['/v1/models', '/v1/models/scripted', '/metrics', '/props'].map((path) => withoutKey(get(path, status(401)))),
    withoutKey(chat({}, status(401, /invalid_api_key/))),
    withoutKey(get('/health', has('status', 'ok'))),
    withoutKey(get('/ready', has('status', 'ready'))),
    withoutKey(get('/openapi.json', has('openapi', /^3/))),
  ),
  differs(
    22,
    ['options of CORS', 'an allow-list of origins; methods and headers need none'],
    sent({ headers: { origin: 'https://evil.example' } }, chat({}, status(403, /origin_not_allowed/))),
    withoutKey(
      sent(
        {
          headers: {
            origin: 'https://page.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'x-own',
          },
        },
        reads(
          { call: 'OPTIONS /v1/chat/completions' },
          status(204, /^/),
          header('access-control-allow-origin', /^https:\/\/page\.example$/),
          header('access-control-allow-headers', /x-own|\*/),
        ),
      ),
    ),
  ),
]

/** MLC-LLM's server. */
export const mlc: System = {
  title: 'MLC-LLM serve',
  prefix: 'M',
  introduction: 'Models are GGUF files, or are on servers such as vLLM; compiled models of MLC-LLM are not read.',
  groups: [
    { title: 'routes', rows: routes },
    { title: 'server', rows: server },
    mlcFields,
    ...mlcPrompts,
    ...mlcReplies,
    ...mlcClients,
  ],
}

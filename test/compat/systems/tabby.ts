import { body, type Check, event, has, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  complete,
  differs,
  elsewhere,
  get,
  imagePart,
  post,
  type Row,
  type System,
  sent,
  shownBy,
  user,
  withoutKey,
  works,
} from '../row.ts'
import { tabbyClients } from './tabby-clients.ts'
import { tabbyFields } from './tabby-fields.ts'

const load = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/model/load', { model_name: 'scripted', ...fields }, ...checks)
const finished = event('status', 'finished')

const routes: readonly Row[] = [
  better(
    '0a',
    ['POST /v1/decisions', "also in OpenAI's form, with pictures and conversations, and for models of other servers"],
    post(
      '/v1/decisions',
      { model: 'dragoman-tiny', input: 'hello', questions: [{ id: 'a', type: 'yes_no', question: 'Is it a greeting?' }] },
      has('answers.a.probabilities.yes'),
    ),
    post(
      '/v1/decisions',
      { model: 'dragoman-tiny', input: 'hello', questions: [{ type: 'predicate', instructions: 'Is it a greeting?' }] },
      has('answers.0.probability'),
    ),
  ),
  works(1, 'POST /v1/chat/completions', chat({}, text('hello'))),
  better(
    2,
    ['POST /v1/completions with a list', 'each prompt has its own choices'],
    complete({ prompt: ['a', 'b'] }, has('choices.1.text', 'b')),
  ),
  works(3, 'POST /v1/embeddings', post('/v1/embeddings', { model: 'scripted', input: 'a' }, has('data.0.embedding'))),
  differs(
    4,
    ['GET /health', 'without a list of past problems; `GET /ready` has the models, and recovers'],
    withoutKey(get('/health', has('status', 'ok'))),
  ),
  works(5, 'GET /.well-known/serviceinfo', withoutKey(get('/.well-known/serviceinfo', body(/"relative_url":"\/v1"/)))),
  better(
    6,
    ['GET /v1/models', 'every model that the key may use, with its state'],
    asUser(get('/v1/models', has('data.0.state'))),
  ),
  works(7, 'GET /v1/model/list', asUser(get('/v1/model/list', body(/"id":"scripted"/)))),
  works(8, 'GET /v1/model', load({}, finished), get('/v1/model', has('id', 'scripted'), has('parameters.max_batch_size'))),
  works(9, 'GET /props', asUser(get('/props', has('total_slots')))),
  works(10, 'GET /v1/model/draft/list', asUser(get('/v1/model/draft/list', body(/"id":"tiny"/)))),
  works(11, 'GET /v1/model/embedding/list', asUser(get('/v1/model/embedding/list', body(/"id":"scripted"/)))),
  works(
    12,
    'GET /v1/model/embedding',
    post('/v1/model/embedding/load', { embedding_model_name: 'short' }),
    get('/v1/model/embedding', has('id', 'short')),
  ),
  works(13, 'POST /v1/model/load with progress', load({ max_seq_len: 500 }, finished), asUser(load({}, status(403, /admin/)))),
  works(14, 'POST /v1/model/unload', post('/v1/model/unload', {}, body(/^\{\}$/))),
  works(
    15,
    'POST /v1/model/embedding/load, /unload',
    post('/v1/model/embedding/unload', {}, body(/^\{\}$/)),
    post('/v1/model/embedding/unload', {}, status(400, /no embedding model/)),
  ),
  works(
    16,
    'POST /v1/download',
    post('/v1/download', {}, status(400, /repo_id/)),
    shownBy('e2e/models/download-models.test.ts', 'patterns choose the file'),
  ),
  works(
    17,
    'GET /v1/loras, /v1/lora',
    load({}, finished),
    get('/v1/loras', has('object', 'list')),
    get('/v1/lora', has('object', 'list')),
  ),
  works(
    18,
    'POST /v1/lora/load, /unload',
    shownBy('e2e/models/lora.test.ts', 'are loaded, listed and unloaded while the server runs'),
  ),
  works(
    19,
    'POST /v1/token/encode',
    asUser(post('/v1/token/encode', { model: 'scripted', text: 'ab' }, has('tokens', [97, 98]), has('length', 2))),
  ),
  works(
    20,
    'POST /v1/token/decode',
    asUser(post('/v1/token/decode', { model: 'scripted', tokens: [97, 98] }, has('text', 'ab'))),
  ),
  works(
    21,
    'GET /v1/auth/permission',
    get('/v1/auth/permission', has('permission', 'admin')),
    asUser(get('/v1/auth/permission', has('permission', 'api'))),
    withoutKey(get('/v1/auth/permission', status(401))),
  ),
  works(22, 'GET /v1/templates', asUser(get('/v1/templates', body(/"selected".*|described/)))),
  works(
    23,
    'POST /v1/template/switch',
    post('/v1/template/switch', { prompt_template_name: 'described', model: 'scripted' }, body(/described/)),
    post('/v1/template/switch', { prompt_template_name: '../x' }, status(400)),
  ),
  works(
    24,
    'POST /v1/template/unload',
    post('/v1/template/unload', { model: 'scripted' }, body(/selected/)),
    post('/v1/template/switch', { prompt_template_name: 'model', model: 'scripted' }),
  ),
  works(25, 'GET /v1/sampling/overrides', asUser(get('/v1/sampling/overrides', has('overrides')))),
  better(
    26,
    ['POST /v1/sampling/override/switch, /unload', 'forced zeros count'],
    post(
      '/v1/sampling/override/switch',
      { overrides: { temperature: { override: 0, force: true } } },
      has('overrides.temperature.force', true),
    ),
    post('/v1/sampling/override/unload', {}, has('overrides', {})),
  ),
  works(
    27,
    "routes of KoboldAI's API",
    post('/api/v1/generate', { prompt: 'a' }, has('results.0.text')),
    post('/api/extra/tokencount', { prompt: 'ab' }, has('value', 2)),
    post('/api/extra/abort', {}, has('success', false)),
  ),
]

const server: readonly Row[] = [
  works(
    28,
    'a busy port: the next one, with `server.portFallback`',
    shownBy('../src/app/listen.test.ts', 'with a fallback, the next free port is used'),
  ),
  works(
    29,
    '`disable_fetch_requests`: `media.urls: off`',
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { messages: [user([imagePart('https://example.com/a.png')])] },
        status(400, /media\.urls|not fetch|off/),
      ),
    ),
  ),
  works(
    30,
    '`disable_request_streaming`: `server.streaming: false`',
    elsewhere(post('/llm/v1/chat/completions', { stream: true, messages: [user('a b')] }, text('a b'))),
  ),
  differs(
    31,
    ['`send_tracebacks`', 'the log has the cause, with the id of the request; replies have no internals'],
    chat({ messages: [user('{"chunks":[],"failAfter":0}')] }, status(500)),
  ),
  works(
    32,
    '`sse_ping_interval`: `server.heartbeatMs`, 0 is off',
    elsewhere(post('/llm/v1/chat/completions', { stream: true, messages: [user('a')] }, text('a'))),
  ),
]

const keys: readonly Row[] = [
  better(33, ['an API key', 'any number, with scopes, models, limits and an expiry'], asUser(get('/v1/models'))),
  works(
    34,
    'an admin key',
    sent({ headers: { 'x-admin-key': 'admin' }, key: 'none' }, get('/v1/auth/permission', has('permission', 'admin'))),
  ),
  works(
    35,
    '`X-Api-Key` and bearer',
    sent({ headers: { 'x-api-key': 'user' }, key: 'none' }, get('/v1/models')),
    sent({ headers: { 'x-api-key': 'wrong' }, key: 'none' }, get('/v1/models', status(401))),
  ),
  works(
    36,
    'a file of keys, read again when it changes',
    shownBy('e2e/server/reload.test.ts', 'a key that is made, revoked or expires takes effect at once'),
  ),
  better(37, ['keys are printed at the start', 'and never in the log here'], shownBy('e2e/install/cli.test.ts', 'shows it once')),
  works(38, '`disable_auth`: no key is configured', elsewhere(get('/llm/v1/models'))),
  works(
    39,
    'a request without `model`: the one that was loaded',
    post('/v1/chat/completions', { messages: [user('a')] }, has('model', 'scripted')),
  ),
  better(
    40,
    ['another name is answered by the loaded model', '404 with the names; or an alias'],
    chat({ model: 'zzz' }, status(404, /available/)),
  ),
  works(41, 'a model is loaded by its name in a request', chat({ model: 'tiny', max_tokens: 2 }, has('model', 'tiny'))),
  works(42, 'dummy names: `aliases`', chat({ model: 'gpt-3.5-turbo' }, has('model', 'scripted'))),
  differs(
    43,
    ['`tabby_config.yml` of a model', 'settings and `defaults` in the configuration'],
    get('/props?model=dragoman-tiny', has('default_generation_settings')),
  ),
  works(44, 'replies name the loaded model', chat({ model: 'default' }, has('model', 'scripted'))),
]

/** tabbyAPI. */
export const tabby: System = {
  title: 'tabbyAPI',
  prefix: 'T',
  introduction:
    'A field that is refused refuses its request, unless it has the value with which it changes nothing: default bodies pass.',
  groups: [
    { title: 'routes', rows: routes },
    { title: 'server', rows: server },
    { title: 'keys and models', rows: keys },
    ...tabbyFields,
    ...tabbyClients,
  ],
}

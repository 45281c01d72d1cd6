import { body, type Check, event, has, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  cleansUp,
  complete,
  differs,
  get,
  post,
  prompt,
  type Row,
  type System,
  shownBy,
  user,
  withoutKey,
  works,
} from '../row.ts'
import { tabbyClients } from './tabby-clients.ts'
import { tabbyFields } from './tabby-fields.ts'
import { tabbyLoads } from './tabby-loads.ts'
import { tabbyServer } from './tabby-server.ts'
import { draws, finished, ids, isShare, kinds, load, onlyWords, overrides, unloadModel, unloadPreset } from './tabby-steps.ts'

const question = 'Is it a greeting?'
const decides = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/decisions', { model: 'dragoman-tiny', input: 'hello', ...fields }, ...checks)
const numbers = (count: number) => (value: unknown) =>
  Array.isArray(value) && value.length === count && value.every((one) => typeof one === 'number')
const lists: readonly Row[] = [
  better(
    '0a',
    ['POST /v1/decisions', "also in OpenAI's form, and with conversations and pictures"],
    decides(
      { questions: [{ id: 'a', type: 'yes_no', question }] },
      has('answers.a.probabilities.yes', isShare),
      has('answers.a.probabilities.no', isShare),
      has('answers.a.type', 'yes_no'),
    ),
    decides({ questions: [{ type: 'predicate', instructions: question }] }, has('answers.0.probability', isShare)),
    shownBy('../src/dialect/openai-decisions/decisions.test.ts', 'behind a conversation with pictures and JSON'),
  ),
  works(1, 'POST /v1/chat/completions', chat({}, text('hello'), has('object', 'chat.completion'))),
  better(
    2,
    ['POST /v1/completions with a list', 'each prompt has its own choices'],
    complete({ prompt: ['a', 'b'] }, has('choices.0.text', 'a'), has('choices.1.text', 'b'), has('choices.1.index', 1)),
  ),
  works(
    3,
    'POST /v1/embeddings',
    post(
      '/v1/embeddings',
      { model: 'scripted', input: 'a', dimensions: 4 },
      has('object', 'list'),
      has('data.0.embedding', numbers(4)),
      has('model', 'scripted'),
    ),
  ),
  differs(
    4,
    ['GET /health', 'without a list of past problems; `GET /ready` has the models'],
    withoutKey(get('/health', has('status', 'ok'))),
    get('/ready', has('status', 'ready'), has('models.0', { id: 'scripted', state: 'ready', required: true })),
  ),
  works(
    5,
    'GET /.well-known/serviceinfo',
    withoutKey(get('/.well-known/serviceinfo', has('api.openai.relative_url', '/v1'), has('api.koboldai.relative_url', '/api'))),
  ),
  better(
    6,
    ['GET /v1/models', 'every model that the key may use, with its state'],
    asUser(
      get(
        '/v1/models',
        ids((all) => all.includes('scripted') && all.includes('tiny')),
        has('data.0.state', 'ready'),
      ),
    ),
    shownBy('../src/app/keys/key-models.test.ts', 'lists only these, in each form'),
  ),
  works(
    7,
    'GET /v1/model/list',
    asUser(
      get(
        '/v1/model/list',
        ids((all) => all.includes('scripted') && all.includes('tiny')),
      ),
    ),
    withoutKey(get('/v1/model/list', status(401))),
  ),
  works(
    8,
    'GET /v1/model',
    load({ model_name: 'tiny', max_seq_len: 512, max_batch_size: 2 }, finished),
    get(
      '/v1/model',
      has('id', 'tiny'),
      has('parameters.max_seq_len', 512),
      has('parameters.max_batch_size', 2),
      has('parameters.prompt_template', 'model'),
      has('parameters.prompt_template_content', /im_start/),
    ),
    cleansUp(unloadModel()),
  ),
  works(
    9,
    'GET /props',
    load({ model_name: 'tiny', max_seq_len: 512, max_batch_size: 2 }, finished),
    asUser(get('/props', has('total_slots', 2), has('default_generation_settings.n_ctx', 512), has('chat_template', /im_start/))),
    cleansUp(unloadModel()),
  ),
  works(
    10,
    'GET /v1/model/draft/list',
    asUser(
      get(
        '/v1/model/draft/list',
        ids((all) => all.includes('tiny')),
      ),
    ),
  ),
  works(
    11,
    'GET /v1/model/embedding/list',
    asUser(
      get(
        '/v1/model/embedding/list',
        ids((all) => all.includes('scripted') && all.includes('short')),
      ),
    ),
    shownBy('../src/http/routes/local-servers/tabby-routes.test.ts', 'the models are listed, and those that embed'),
  ),
  works(
    12,
    'GET /v1/model/embedding',
    post('/v1/model/embedding/load', { embedding_model_name: 'short' }, has('status', 'finished')),
    get('/v1/model/embedding', has('id', 'short')),
    cleansUp(post('/v1/model/embedding/unload', {}, body(/^\{\}$/))),
  ),
]

const loading: readonly Row[] = [
  works(
    13,
    'POST /v1/model/load with progress',
    load({ model_name: 'tiny', max_seq_len: 1024 }, event('status', 'processing'), event('modules', 100), finished),
    get('/v1/model', has('id', 'tiny'), has('parameters.max_seq_len', 1024)),
    asUser(load({}, status(403, /admin/))),
    load({ model_name: 'zzz' }, status(404, /zzz/)),
    cleansUp(unloadModel()),
  ),
  works(
    14,
    'POST /v1/model/unload',
    load({ model_name: 'tiny' }, finished),
    get('/v1/models/tiny', has('state', 'ready')),
    unloadModel(),
    get(
      '/v1/models/tiny',
      has('state', (state: string) => state !== 'ready'),
    ),
    asUser(post('/v1/model/unload', {}, status(403, /admin/))),
  ),
  works(
    15,
    'POST /v1/model/embedding/load, /unload',
    post(
      '/v1/model/embedding/load',
      { embedding_model_name: 'short' },
      has('', { model_type: 'embedding_model', module: 1, modules: 1, status: 'finished' }),
    ),
    post('/v1/model/embedding/unload', {}, body(/^\{\}$/)),
    post('/v1/model/embedding/unload', {}, status(400, /no embedding model/)),
  ),
  works(
    16,
    'POST /v1/download',
    post('/v1/download', {}, status(400, /repo_id/)),
    asUser(post('/v1/download', { repo_id: 'a/b' }, status(403, /admin/))),
    shownBy('e2e/models/download-models.test.ts', 'a repository is fetched with its own token, which nothing keeps'),
    shownBy('e2e/models/download-models.test.ts', 'patterns choose the file'),
  ),
  works(
    17,
    'GET /v1/loras, /v1/lora',
    get('/v1/loras', has('', { object: 'list', data: [] })),
    get('/v1/lora', has('', { object: 'list', data: [] })),
    shownBy('e2e/models/lora.test.ts', 'are loaded, listed and unloaded while the server runs'),
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
]

const shownUser = (...checks: readonly Check[]) => prompt('scripted', [user('x')], ...checks)
const ownTemplate = () => post('/v1/template/switch', { prompt_template_name: 'model', model: 'scripted' }, has('selected', null))

const chosen: readonly Row[] = [
  works(
    22,
    'GET /v1/templates',
    asUser(get('/v1/templates?model=described', has('data', /"described".*"thinking"/), has('selected', 'model'))),
    withoutKey(get('/v1/templates', status(401))),
  ),
  works(
    23,
    'POST /v1/template/switch',
    post('/v1/template/switch', { prompt_template_name: 'described', model: 'scripted' }, has('selected', 'described')),
    shownUser(has('prompt', /<user>x/)),
    post('/v1/template/switch', { prompt_template_name: '../x', model: 'scripted' }, status(400, /prompt_template_name/)),
    asUser(post('/v1/template/switch', { prompt_template_name: 'described', model: 'scripted' }, status(403, /admin/))),
    cleansUp(ownTemplate()),
  ),
  works(
    24,
    'POST /v1/template/unload',
    post('/v1/template/switch', { prompt_template_name: 'described', model: 'scripted' }, has('selected', 'described')),
    post('/v1/template/unload', { model: 'scripted' }, has('selected', null)),
    shownUser(status(400, /template_failed/)),
    cleansUp(ownTemplate()),
  ),
  works(
    25,
    'GET /v1/sampling/overrides',
    asUser(get('/v1/sampling/overrides', has('', { selected_preset: null, overrides: {}, presets: ['cold'] }))),
  ),
  better(
    26,
    ['POST /v1/sampling/override/switch, /unload', 'forced zeros count'],
    overrides({ temperature: { override: 0, force: true } }, has('overrides.temperature.force', true)),
    draws({ temperature: 1 }, onlyWords('alth')),
    unloadPreset(),
    draws({ temperature: 1 }, kinds(16)),
    asUser(overrides({ temperature: { override: 0 } }, status(403, /admin/))),
    cleansUp(unloadPreset()),
  ),
  works(
    27,
    "routes of KoboldAI's API",
    post('/api/v1/generate', { prompt: 'a b c', max_length: 2 }, has('results.0.text', /^a b\s?$/)),
    post('/api/extra/generate/stream', { prompt: 'a b' }, event('token', /a/)),
    post('/api/extra/tokencount', { prompt: 'ab' }, has('value', 2)),
    post('/api/extra/abort', {}, has('success', false)),
    shownBy(
      '../src/http/routes/local-servers/kobold-routes.test.ts',
      'a request is ended by its genkey, and without one nothing is',
    ),
    post('/api/extra/generate/check', {}, has('results.0.text', /a b/)),
  ),
]

/** tabbyAPI. */
export const tabby: System = {
  title: 'tabbyAPI',
  prefix: 'T',
  introduction:
    'A field that is refused refuses its request, unless it has the value with which it changes nothing: default bodies pass.',
  groups: [
    { title: 'routes', rows: lists },
    { title: 'loads, adapters, tokens', rows: loading },
    { title: 'templates, presets, KoboldAI', rows: chosen },
    ...tabbyServer,
    ...tabbyFields,
    ...tabbyLoads,
    ...tabbyClients,
  ],
}

import { bytes, fine, whole } from '../../answers.ts'
import { body, type Check, event, has, header, status, text, upstreamGot, upstreamLacks } from '../../checks.ts'
import {
  asOtherUser,
  asUser,
  better,
  chat,
  complete,
  differs,
  type Group,
  get,
  inSandbox,
  onTools,
  post,
  postForm,
  prepares,
  type Row,
  refused,
  refuses,
  sent,
  shownBy,
  tiny,
  user,
  usesTools,
  withoutKey,
  works,
} from '../../row.ts'
import { api, below, cancelled, loaded, loadOf, unloadOf } from './unsloth-steps.ts'

const generate = (fields: object, ...checks: readonly Check[]) =>
  post(`${api}/generate/stream`, { model: 'scripted', messages: [user('hello')], ...fields }, ...checks)
/** What another server gets of the legacy route. */
const generates = (fields: object, place: string, value: unknown) =>
  sent({ upstream: fine }, generate({ model: 'vllm', ...fields }, upstreamGot(place, value)))
/** A field, its default, and a value out of its range. */
const generated = (name: string, [usual, value, wrong]: readonly [usual: number, value: number, wrong: number], as = name) => [
  generates({}, as, usual),
  generates({ [name]: value }, as, value),
  refuses(generate({ [name]: wrong }), name),
]
const vector = (length: number) => has('data.0.embedding', (found: readonly number[]) => found.length === length)
const silence = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', 'base64')
const names = (...wanted: readonly string[]) =>
  has('data', (all: readonly { id: string }[]) => wanted.every((name) => all.some(({ id }) => id === name)))
const draw = `call python {"code": "open('red.png', 'wb').write(b'picture')"}`

const routes: readonly Row[] = [
  works(
    1,
    'POST /load',
    ...loaded(
      loadOf({}, has('status', 'loaded')),
      get(`${api}/status`, has('active_model', 'tiny')),
      tiny({ model: undefined }, has('model', 'tiny')),
    ),
    asUser(loadOf({}, status(403, /detail/))),
  ),
  works(
    2,
    'POST /unload',
    prepares(loadOf({}, has('status', 'loaded'))),
    unloadOf('tiny', has('status', 'unloaded')),
    get('/v1/models/tiny', has('loaded', false)),
    asUser(unloadOf('tiny', status(403, /detail/))),
    shownBy('e2e/models/load-models.test.ts', 'that would end a running request is refused, until it is forced'),
  ),
  works(
    3,
    'POST /validate, also of repositories',
    post(`${api}/validate`, { model_path: 'tiny' }, has('valid', true), has('message', /tiny\.gguf/)),
    post(`${api}/validate`, { model_path: 'zzz' }, status(404, /"detail":"there is no model 'zzz'/)),
    shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'a model is found without loading it'),
  ),
  works(
    4,
    'GET /status',
    ...loaded(
      loadOf({}, has('status', 'loaded')),
      get(
        `${api}/status`,
        has('active_model', 'tiny'),
        has('loaded', (all: readonly string[]) => all.includes('tiny')),
      ),
    ),
    get(`${api}/status`, has('active_model', 'scripted')),
  ),
  works(
    5,
    'GET /load-progress',
    get(`${api}/load-progress`, has('phase', 'ready'), has('fraction', 1)),
    shownBy('e2e/models/load-models.test.ts', 'fetches the quantization, shows the bytes'),
  ),
  works(
    6,
    'POST /cancel',
    ...cancelled({ session_id: 'u6' }, { session_id: 'u6' }),
    post(`${api}/cancel`, {}, has('cancelled', 0)),
    post('/v1/cancel', {}, status(404)),
  ),
  works(
    7,
    'POST /generate/stream',
    generate({}, event('content', 'hello'), body(/\[DONE\]\n\n$/)),
    generate({ model: 'zzz' }, status(404, /detail/)),
  ),
  works(
    8,
    'POST /responses',
    post(`${api}/responses`, { model: 'scripted', input: 'a' }, has('object', 'response'), has('output.0.content.0.text', 'a')),
  ),
  works(
    9,
    'POST /messages',
    post(`${api}/messages`, { model: 'scripted', max_tokens: 9, messages: [user('a')] }, has('content.0.text', 'a')),
  ),
  works(
    10,
    'POST /messages/count_tokens',
    post(`${api}/messages/count_tokens`, { model: 'scripted', messages: [user('a b c')] }, has('input_tokens', 3)),
  ),
  differs(
    11,
    ['POST /audio/generate', 'by a server of speech that a model names in `services`'],
    sent(
      { at: 'tools', upstream: bytes(silence, 'audio/wav') },
      post(
        `${api}/audio/generate`,
        { messages: [user('first'), user('Hello')] },
        has('audio.data', silence.toString('base64')),
        has('audio.sample_rate', 8000),
        upstreamGot('input', 'Hello'),
      ),
    ),
    post(`${api}/audio/generate`, { messages: [user('a')] }, status(400, /services/)),
  ),
  works(
    12,
    'GET /sandbox/SESSION/FILE, where `tools` has programs',
    inSandbox(
      usesTools(
        draw,
        { enabled_tools: ['python'], session_id: 'u12' },
        has('choices.0.message.images.0.image_url.url', `${api}/sandbox/u12/red.png`),
      ),
    ),
    inSandbox(
      onTools(
        get(
          `${api}/sandbox/u12/red.png`,
          body(/^picture$/),
          header('content-type', /^image\/png$/),
          header('cache-control', /no-store/),
        ),
      ),
    ),
    inSandbox(asOtherUser(onTools(get(`${api}/sandbox/u12/red.png`, status(404))))),
    onTools(get(`${api}/sandbox/u12/a.txt`, status(403, /only pictures/))),
    get(`${api}/sandbox/a/b.png`, status(404, /tools python and terminal are off/)),
  ),
  works(
    13,
    'all protocols below /api/inference',
    below('/chat/completions', chat({}, text('hello'))),
    below('/completions', complete({}, text('hello'))),
    below('/embeddings', post('/', { model: 'scripted', input: 'a' }, vector(64))),
    get(`${api}/models`, names('scripted', 'vllm')),
    shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'every protocol is mounted beside these routes'),
  ),
  refused(
    14,
    [
      'shutdown, hardware, logins, training',
      'a supervisor stops the process, `dragoman doctor` describes the machine, keys are in the configuration',
    ],
    post('/api/shutdown', {}, status(404, /SIGTERM/)),
    get('/api/system', status(404, /dragoman doctor/)),
    post('/api/auth/login', {}, status(404, /dragoman keys new/)),
    get('/api/models/list', status(404, /GET \/v1\/models/)),
    get('/api/train/status', status(404, /only inference/)),
    get('/api/inference/zzz', status(404, /there is no route/)),
  ),
  differs(
    15,
    ['active generations, approvals, a monitor', 'the first two; what runs and ran is in GET /metrics and on the page'],
    ...cancelled(
      { thread_id: 'u15' },
      { session_id: 'u15' },
      has('thread_ids', ['u15']),
      has('active.0.kind', 'chat'),
      has('active.0.model', 'scripted'),
      has('parallel_slots', 64),
    ),
    post(`${api}/tool-confirm`, { tool_call_id: 'a', approved: true }, status(404, /waits for an approval/)),
    post(`${api}/tool-confirm`, { session_id: 's', approval_id: 'a', decision: 'allow' }, status(404, /approval_id 'a' waits/)),
    shownBy('../src/http/unsloth-page.test.ts', 'decides a call that waits with'),
    get(`${api}/monitor`, status(404, /metrics/)),
  ),
  works(
    16,
    'speech, transcriptions, pictures, counts of tokens',
    post(`${api}/chat/count_tokens`, { model: 'scripted', messages: [user('a b c')] }, has('input_tokens', 3)),
    sent(
      { at: 'tools', upstream: bytes(Buffer.from('sound'), 'audio/mpeg') },
      post('/v1/audio/speech', { model: 'studio', input: 'Hi', voice: 'alloy' }, body(/^sound$/), upstreamGot('input', 'Hi')),
    ),
    sent(
      { at: 'tools', upstream: whole({ text: 'hello' }) },
      postForm('/v1/audio/transcriptions', { model: 'studio', file: new File(['x'], 'a.wav') }, has('text', 'hello')),
    ),
    sent(
      { at: 'tools', upstream: whole({ created: 1, data: [{ b64_json: 'eA==' }] }) },
      post(
        '/v1/images/generations',
        { model: 'studio', prompt: 'red' },
        has('data.0.b64_json', 'eA=='),
        upstreamGot('prompt', 'red'),
      ),
    ),
  ),
  works(17, 'POST /v1/chat/completions', chat({}, text('hello'), has('object', 'chat.completion'))),
  better(
    18,
    ['POST /v1/completions, /v1/embeddings', 'of every engine'],
    complete({}, has('choices.0.text', 'hello')),
    complete({ model: 'dragoman-tiny', max_tokens: 4 }, has('choices.0.text', /./)),
    post('/v1/embeddings', { model: 'scripted', input: ['a', 'b'] }, vector(64), has('data.1.index', 1)),
    post('/v1/embeddings', { model: 'dragoman-tiny', input: 'a' }, has('data.0.embedding.0')),
    sent(
      {
        upstream: whole({
          object: 'list',
          data: [{ index: 0, embedding: [1, 2] }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        }),
      },
      post('/v1/embeddings', { model: 'vllm', input: 'a' }, vector(2)),
    ),
  ),
  works(
    19,
    'GET /v1/models, /v1/models/ID',
    get('/v1/models', names('scripted', 'tiny', 'vllm')),
    get('/v1/models/tiny', has('id', 'tiny'), has('object', 'model')),
    get('/v1/models/zzz', status(404, /model_not_found/)),
  ),
  works(20, 'GET /api/health', withoutKey(get('/api/health', has('status', 'ok')))),
  better(
    21,
    ['keys as bearer or `x-api-key`', 'with scopes'],
    withoutKey(get('/v1/models', status(401))),
    sent({ key: 'none', headers: { 'x-api-key': 'user' } }, get('/v1/models', names('scripted'))),
    sent({ key: 'none', headers: { 'x-api-key': 'wrong' } }, get('/v1/models', status(401))),
    asUser(get('/metrics', status(403))),
    sent({ key: 'reader' }, get('/metrics', body(/dragoman_/))),
    sent({ key: 'reader' }, chat({}, status(403))),
  ),
]

const generations: readonly Row[] = [
  works(
    47,
    '`messages`',
    generate({ messages: [user('first'), { role: 'assistant', content: 'a' }, user('last')] }, event('content', 'last')),
    generates({ messages: [user('b'), { role: 'assistant', content: 'a' }] }, 'messages', [
      user('b'),
      { role: 'assistant', content: 'a' },
    ]),
    refuses(generate({ messages: [] }), 'messages'),
  ),
  works(48, '`system_prompt`', generates({ system_prompt: 'x' }, 'messages', [{ role: 'system', content: 'x' }, user('hello')])),
  works(49, '`temperature`', ...generated('temperature', [0.6, 0.5, 3])),
  works(50, '`top_p`', ...generated('top_p', [0.95, 0.5, 2])),
  differs(
    51,
    ['`top_k`, 20 by default', 'absent, the model decides: not all servers have it'],
    generates({ top_k: 7 }, 'top_k', 7),
    generates({ top_k: -1 }, 'top_k', -1),
    sent({ upstream: fine }, generate({ model: 'openai' }, upstreamLacks('top_k'), event('content', 'ok'))),
    refuses(generate({ top_k: -2 }), 'top_k'),
  ),
  works(
    52,
    '`max_new_tokens`, 1 to 4096',
    ...generated('max_new_tokens', [2048, 5, 0], 'max_tokens'),
    refuses(generate({ max_new_tokens: 4097 }), 'max_new_tokens'),
    generate({ max_new_tokens: 1, messages: [user('a b')] }, body(/"content":"a ?"/), body(/^(?!.*"b").*$/s)),
  ),
  works(53, '`repetition_penalty`', ...generated('repetition_penalty', [1, 1.5, 3])),
  works(54, '`presence_penalty`', ...generated('presence_penalty', [0, 1, 3])),
  refused(
    55,
    ['`image_base64`', 'chat completions read pictures'],
    refuses(generate({ image_base64: 'aa' }), 'image_base64'),
    generate({ image_base64: 'aa' }, status(400, /send images in chat completions/)),
  ),
]

/** Routes of Unsloth Studio. */
export const unslothRoutes: readonly Group[] = [{ title: 'routes', rows: routes }]
export const unslothGenerations: Group = { title: 'POST /generate/stream', rows: generations }

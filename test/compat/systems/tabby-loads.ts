import { body, event, has, lacks, status, text, textOf } from '../checks.ts'
import {
  better,
  chat,
  cleansUp,
  differs,
  elsewhere,
  file,
  type Group,
  get,
  imagePart,
  post,
  type Row,
  shownBy,
  soon,
  starts,
  textPart,
  tiny,
  user,
  works,
} from '../row.ts'
import { redPixel } from '../servers.ts'
import { finished, load, unloadModel } from './tabby-steps.ts'

const firstLoad = load({ model_name: 'tiny', max_seq_len: 1024 }, finished)
/** A stream that waits until it is cancelled. */
const endlessRequest = chat(
  { messages: [user(JSON.stringify({ chunks: ['a', 'b'], delayMs: 50_000 }))], cancel_id: 'stopped', stream: true },
  (reply) => (reply.status === 200 && textOf(reply) !== 'ab' ? undefined : `not cancelled: ${reply.text}`),
)
/** A list of this number of float32 numbers in base64. */
const floats = (count: number) => (value: string) => Buffer.from(value, 'base64').length === 4 * count

const rest: readonly Row[] = [
  works(
    134,
    'load events, also of the draft model',
    load(
      { model_name: 'tiny', max_seq_len: 1024, draft_model: { draft_model_name: 'tiny' } },
      event('', (value: object) => JSON.stringify(value).includes('"model_type":"model"') && 'module' in value),
      event('', { model_type: 'draft', module: 1, modules: 1, status: 'finished' }),
      finished,
    ),
    load({ model_name: 'tiny', max_seq_len: 1024 }, event('model_type', 'model'), event('status', 'processing'), finished),
    cleansUp(unloadModel()),
  ),
  differs(
    135,
    [
      'load parameters',
      '`max_seq_len`, `cache_mode`, `chunk_size`, `max_batch_size`, `prompt_template`, the draft model; several GPUs are `args` of llama-server, and RoPE is the setting `rope`',
    ],
    load({ max_seq_len: 400, max_batch_size: 4 }, finished),
    get('/v1/model', has('parameters.max_seq_len', 400), has('parameters.max_batch_size', 4)),
    load({ rope_alpha: 2 }, status(400, /rope_alpha/)),
    load({ gpu_split: [1, 2] }, status(400, /gpu_split/)),
    shownBy('e2e/models/load-models.test.ts', 'has the settings that it asks for, and says what the model can do'),
    cleansUp(unloadModel()),
  ),
  works(
    136,
    'loads at the same time',
    starts(firstLoad),
    load({ model_name: 'tiny', max_seq_len: 512 }, finished),
    firstLoad,
    get(
      '/v1/model',
      has('parameters.max_seq_len', (length: number) => length === 512 || length === 1024),
    ),
    cleansUp(unloadModel()),
  ),
  better(
    137,
    ['without `use_vision`, pictures are dropped', 'read with the projector beside the model; without one, a 400'],
    tiny(
      { messages: [user([imagePart(`data:image/png;base64,${redPixel}`)])] },
      has('usage.prompt_tokens', (count: number) => count > 20),
    ),
  ),
  works(
    138,
    'pictures as data or by URL',
    chat({ messages: [user([textPart('x'), imagePart(`data:image/png;base64,${redPixel}`)])] }, text(/x.*image\/png/s)),
    chat({ messages: [user([textPart('x'), imagePart('SITE/red.png')])] }, text(/x.*image\/png/s)),
  ),
  better(
    139,
    ['embeddings: float, base64, lists', 'also token ids and `dimensions`'],
    post(
      '/v1/embeddings',
      { model: 'scripted', input: ['a', 'b'], dimensions: 4, encoding_format: 'base64' },
      has('data.0.embedding', floats(4)),
      has('data.1.embedding', floats(4)),
      has('data.1.index', 1),
    ),
    post(
      '/v1/embeddings',
      { model: 'scripted', input: [[97], [98]], dimensions: 4, encoding_format: 'float' },
      has('data.1.embedding', (values: readonly number[]) => values.length === 4),
    ),
  ),
  differs(
    140,
    ['503 when a generation fails', '500 engine_failed'],
    chat({ messages: [user('{"chunks":[],"failAfter":0}')] }, status(500, /engine_failed/)),
  ),
  better(
    141,
    ['an error in a stream', 'an event, then `[DONE]`'],
    chat(
      { stream: true, messages: [user('{"chunks":["a","b"],"failAfter":1}')] },
      event('choices.0.delta.content', 'a'),
      event('error.message', /failed/),
      body(/"error".*\[DONE\]\s*$/s),
    ),
  ),
  works(
    142,
    'a prompt that is too long: 400',
    chat({ model: 'short', messages: [user('a '.repeat(30))] }, status(400, /context_length_exceeded/)),
    chat({ model: 'short', stream: true, messages: [user('a '.repeat(30))] }, status(400, /context_length_exceeded/)),
  ),
  differs(
    143,
    ['422 for a request that was cancelled', 'its client has left: 499 in the log'],
    shownBy('../src/http/run/serve-dialect.test.ts', 'is a 499 in the log and the metrics'),
  ),
  better(
    144,
    ['a crash ends all jobs', 'the worker starts again, and streams are continued'],
    shownBy(
      'e2e/models/lifecycle.test.ts',
      'because it is killed from outside is missed by no reader: its streams go on where they were',
    ),
  ),
  differs(
    145,
    ['503 without a model', 'a 404 for an unknown name; 503 for one that cannot be loaded'],
    chat({ model: 'zzz' }, status(404, /model_not_found/)),
    shownBy('e2e/models/load-models.test.ts', 'that fails leaves the model as it was, to be loaded with its own settings'),
  ),
  better(
    146,
    ['a route that aborts', 'POST /api/inference/cancel, and `/api/extra/abort`'],
    starts(endlessRequest),
    soon(post('/api/inference/cancel', { cancel_id: 'stopped' }, has('cancelled', 1))),
    endlessRequest,
    post('/api/inference/cancel', { cancel_id: 'nothing' }, has('cancelled', 0)),
    shownBy(
      '../src/http/routes/local-servers/kobold-routes.test.ts',
      'a request is ended by its genkey, and without one nothing is',
    ),
  ),
  better(
    147,
    ['a client leaves during either pass', 'its slot is free at once'],
    shownBy('e2e/models/lifecycle.test.ts', 'while its prompt is read: the slot is free within 250 ms'),
    shownBy('e2e/models/lifecycle.test.ts', 'while it is answered: the slot is free within 250 ms'),
  ),
  works(
    148,
    'requests are kept and sent again: `log.captureFolder`, `dragoman replay`',
    elsewhere(post('/llm/v1/chat/completions', { messages: [user('keep this one')] }, text('keep this one'))),
    file('captured/*', /keep this one/),
    shownBy('../src/http/capture/capture.test.ts', 'a request is kept as it came, without secrets, and with its status'),
    shownBy('../src/app/log/capture-folder.test.ts', 'what was captured is sent again'),
  ),
]

const loaders: readonly Row[] = [
  works(
    154,
    'bodies of loaders: numbers as texts, switches that change nothing',
    load({ max_seq_len: '512', no_flash_attention: false, use_cfg: false }, finished),
    get('/v1/model', has('parameters.max_seq_len', 512)),
    cleansUp(unloadModel()),
  ),
  works(
    155,
    '`draft`, another name of `draft_model`',
    load({ model_name: 'tiny', draft: { draft_model_name: 'tiny' } }, event('model_type', 'draft'), finished),
    cleansUp(unloadModel()),
  ),
  works(
    156,
    'empty texts of input boxes',
    load({ prompt_template: '', draft_model: null }, finished),
    post('/v1/download', { repo_id: '', revision: '' }, status(400, /repo_id/)),
    shownBy('../src/dialect/tabby/load.test.ts', 'the form of a loader'),
    cleansUp(unloadModel()),
  ),
  works(
    157,
    'the card after a load with `prompt_template`',
    load({ prompt_template: 'described' }, finished),
    get('/v1/model', has('parameters.prompt_template', 'described'), has('parameters.prompt_template_content', /STOPME/)),
    chat({ messages: [user('abc STOPME def')] }, text('abc ')),
    cleansUp(load({ prompt_template: 'model' }, finished)),
    cleansUp(unloadModel()),
  ),
  works(
    158,
    '`detail` in errors of its own routes; others have the envelope of OpenAI',
    load({ rope_alpha: 2 }, status(400), has('detail', /rope_alpha/), has('error.message', /rope_alpha/)),
    chat({ model: 'zzz' }, has('error.message', /zzz/), lacks('detail')),
  ),
  works(
    159,
    'a load waits for requests that run',
    shownBy(
      '../src/http/routes/local-servers/tabby-routes.test.ts',
      'a load waits for the requests that use the model, and skip_queue ends them',
    ),
  ),
  works(160, 'a client leaves during its load', shownBy('e2e/models/load-models.test.ts', 'leaves no process, and no settings')),
  works(
    161,
    'embeddings without `model` after a load to embed',
    post('/v1/model/embedding/load', { embedding_model_name: 'short' }, has('status', 'finished')),
    post('/v1/embeddings', { input: 'a' }, has('model', 'short')),
    cleansUp(post('/v1/model/embedding/unload', {}, body(/^\{\}$/))),
    post('/v1/embeddings', { input: 'a' }, has('model', 'scripted')),
  ),
  better(
    169,
    ['other models end with a load', 'they go on'],
    shownBy('e2e/models/load-models.test.ts', 'of one model leaves the streams of others alone'),
  ),
  works(
    171,
    'a second unload: 400',
    load({}, finished),
    unloadModel(),
    post('/v1/model/unload', {}, status(400, /no model was loaded/)),
  ),
  works(
    173,
    'token routes, templates and LoRA without `model`',
    load({ model_name: 'tiny' }, finished),
    post('/v1/token/encode', { text: 'Hello', add_bos_token: false }, has('tokens', [1422])),
    get('/v1/templates', has('selected', 'model')),
    get('/v1/lora', has('', { object: 'list', data: [] })),
    unloadModel(),
    post('/v1/token/encode', { text: 'ab' }, has('tokens', [97, 98])),
    get('/v1/templates', has('selected', null)),
  ),
]

/** Loads, media and errors of tabbyAPI. */
export const tabbyLoads: readonly Group[] = [
  { title: 'loads, media and errors', rows: rest },
  { title: 'loaders', rows: loaders },
]

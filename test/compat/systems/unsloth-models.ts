import { type Check, event, has, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  complete,
  differs,
  type Group,
  get,
  post,
  type Request,
  type Row,
  reads,
  refused,
  shownBy,
  user,
  withoutKey,
  works,
} from '../row.ts'

const api = '/api/inference'
const load: Request = { call: `POST ${api}/load`, body: { model_path: 'scripted' } }
const tinyLoad: Request = { call: `POST ${api}/load`, body: { model_path: 'TINY', max_seq_length: 1024, cache_type_kv: null } }
const loadFields = (fields: object, ...checks: readonly Check[]) =>
  post(`${api}/load`, { model_path: 'scripted', ...fields }, ...checks)
const unload: Request = { call: `POST ${api}/unload`, body: { model_path: 'tiny' } }
const validate: Request = { call: `POST ${api}/validate`, body: { model_path: 'tiny' } }
const progress: Request = { call: `GET ${api}/load-progress` }
const state: Request = { call: `GET ${api}/status` }
const generate = (fields: object, ...checks: readonly Check[]) =>
  post(`${api}/generate/stream`, { model: 'scripted', messages: [user('hello')], ...fields }, ...checks)
const said = event('content', 'hello')

const routes: readonly Row[] = [
  works(1, 'POST /load', reads(load, has('status', /loaded/)), asUser(loadFields({}, status(403, /detail/)))),
  works(
    2,
    'POST /unload',
    reads(tinyLoad, has('status', /loaded/)),
    shownBy('e2e/models/load-models.test.ts', 'that would end a running request is refused, until it is forced'),
  ),
  works(
    3,
    'POST /validate, also of repositories',
    reads(validate, has('valid', true)),
    post(`${api}/validate`, { model_path: 'zzz' }, status(404, /detail/)),
  ),
  works(4, 'GET /status', reads(state, has('active_model'))),
  works(5, 'GET /load-progress', reads(progress, has('phase', 'ready'))),
  works(6, 'POST /cancel', post(`${api}/cancel`, {}, has('cancelled', 0)), post('/v1/cancel', {}, status(404))),
  works(7, 'POST /generate/stream', generate({}, said)),
  works(8, 'POST /responses', post(`${api}/responses`, { model: 'scripted', input: 'a' }, has('object', 'response'))),
  works(
    9,
    'POST /messages',
    post(`${api}/messages`, { model: 'scripted', max_tokens: 9, messages: [user('a')] }, has('type', 'message')),
  ),
  works(
    10,
    'POST /messages/count_tokens',
    post(`${api}/messages/count_tokens`, { model: 'scripted', messages: [user('a')] }, has('input_tokens', 1)),
  ),
  differs(
    11,
    ['POST /audio/generate', 'by a server of speech that a model names in `services`'],
    post(`${api}/audio/generate`, { messages: [user('a')] }, status(400, /services/)),
    shownBy('e2e/media/media-services.test.ts', 'audio/generate speaks the last user message'),
  ),
  works(
    12,
    'GET /sandbox/SESSION/FILE, where `tools` has programs',
    get(`${api}/sandbox/a/b.png`, status(404, /tools python and terminal are off/)),
  ),
  works(
    13,
    'all protocols below /api/inference',
    post(`${api}/chat/completions`, { model: 'scripted', messages: [user('a')] }, text('a')),
    get(`${api}/models`, has('data.0.id')),
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
    get(`${api}/active-generations`, has('count', 0)),
    post(`${api}/tool-confirm`, { tool_call_id: 'a', approved: true }, status(404, /waits for an approval/)),
    post(`${api}/tool-confirm`, { session_id: 's', approval_id: 'a', decision: 'allow' }, status(404, /approval_id 'a' waits/)),
    get(`${api}/monitor`, status(404, /metrics/)),
  ),
  works(
    16,
    'speech, transcriptions, pictures, counts of tokens',
    post(`${api}/chat/count_tokens`, { model: 'scripted', messages: [user('a')] }, has('input_tokens', 1)),
    post('/v1/audio/speech', { input: 'a' }, status(400, /services/)),
  ),
  works(17, 'POST /v1/chat/completions', chat({}, text('hello'))),
  better(
    18,
    ['POST /v1/completions, /v1/embeddings', 'of every engine'],
    complete({}, has('choices.0.text', 'hello')),
    post('/v1/embeddings', { model: 'scripted', input: 'a' }, has('data.0.embedding')),
  ),
  works(19, 'GET /v1/models, /v1/models/ID', get('/v1/models', has('data.0.id')), get('/v1/models/tiny', has('id', 'tiny'))),
  works(20, 'GET /api/health', withoutKey(get('/api/health', has('status', 'ok')))),
  better(
    21,
    ['keys as bearer or `x-api-key`', 'with scopes and limits'],
    withoutKey(get('/v1/models', status(401))),
    asUser(get('/metrics', status(403))),
  ),
]

const loads: readonly Row[] = [
  works(
    22,
    '`model_path`: a name, a repository, a file, a folder',
    post(`${api}/load`, { model_path: 'FOLDER/models/tiny.gguf' }, has('status', /loaded/)),
    post(`${api}/load`, { model_path: 'zzz' }, status(404, /detail/)),
  ),
  works(23, '`hf_token`', loadFields({ hf_token: 'hf_x' }, has('status', /loaded/))),
  works(24, '`max_seq_length`', reads(tinyLoad, has('context_length', 1024)), loadFields({ max_seq_length: -1 }, status(400))),
  differs(
    25,
    ['`load_in_4bit`', 'the file of a GGUF model says how it is quantized; `gguf_variant` chooses the file'],
    loadFields({ load_in_4bit: true }, has('status', /loaded/)),
  ),
  differs(26, ['`is_lora`', 'found out from the file, as there'], loadFields({ is_lora: false }, has('status', /loaded/))),
  works(27, '`gguf_variant`', shownBy('e2e/models/load-models.test.ts', 'fetches the quantization, shows the bytes')),
  refused(
    28,
    ['`trust_remote_code`', 'GGUF files have no code'],
    loadFields({ trust_remote_code: true }, status(400, /trust_remote_code/)),
    loadFields({ trust_remote_code: false }),
  ),
  works(
    29,
    '`chat_template_override`',
    post(`${api}/load`, { model_path: 'tiny', chat_template_override: '{{ messages[0].content }}' }, has('status', 'loaded')),
    post('/apply-template', { model: 'tiny', messages: [user('xyz')] }, has('prompt', 'xyz')),
    loadFields({ chat_template_override: '{% if %}' }, status(400)),
  ),
  better(30, ['`cache_type_kv`', 'an unknown one is a 400'], loadFields({ cache_type_kv: 'zzz' }, status(400, /cache_type_kv/))),
  refused(
    31,
    ['`gpu_ids`', 'the devices of a process are chosen where it starts, as the error says; `[]` is accepted'],
    loadFields({ gpu_ids: [1] }, status(400, /CUDA_VISIBLE_DEVICES/)),
    loadFields({ gpu_ids: [] }),
  ),
  works(
    32,
    '`speculative_type`',
    post(`${api}/load`, { model_path: 'tiny', speculative_type: 'ngram-simple' }, has('speculative_type', /ngram/)),
  ),
]

const unloads: readonly Row[] = [
  works(
    33,
    '`model_path` of an unload',
    reads(unload, has('status', 'unloaded')),
    post(`${api}/unload`, { model_path: 'zzz' }, status(404)),
  ),
  works(34, '`status` of an unload', reads(unload, has('status', 'unloaded'))),
  works(35, '`model` of an unload', reads(unload, has('model', 'tiny'))),
  works(36, '`model_path` to validate', reads(validate, has('valid', true))),
  works(37, '`hf_token` to validate', shownBy('../src/dialect/unsloth/requests.test.ts', 'hf_token')),
  works(38, '`gguf_variant` to validate', shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'gguf_variant')),
  works(39, '`valid`', reads(validate, has('valid', true))),
  works(40, '`message`', reads(validate, has('message'))),
  works(41, '`identifier`', reads(validate, has('identifier', 'tiny'))),
  works(42, '`display_name`', reads(validate, has('display_name'))),
  works(43, '`is_gguf`', reads(validate, has('is_gguf', true))),
  works(44, '`is_lora`', reads(validate, has('is_lora', false))),
  works(45, '`is_vision`', reads(validate, has('is_vision', false))),
  works(46, '`requires_trust_remote_code`', reads(validate, has('requires_trust_remote_code', false))),
]

const generates: readonly Row[] = [
  works(47, '`messages`', generate({}, said)),
  works(48, '`system_prompt`', generate({ system_prompt: 'x' }, said)),
  works(49, '`temperature`', generate({ temperature: 0.5 }, said), generate({ temperature: 3 }, status(400))),
  works(50, '`top_p`', generate({ top_p: 0.5 }, said)),
  works(51, '`top_k`', generate({ top_k: -1 }, said)),
  works(52, '`max_new_tokens`, 1 to 4096', generate({ max_new_tokens: 5 }, said), generate({ max_new_tokens: 0 }, status(400))),
  works(53, '`repetition_penalty`', generate({ repetition_penalty: 1.5 }, said)),
  works(54, '`presence_penalty`', generate({ presence_penalty: 1 }, said)),
  refused(55, ['`image_base64`', 'chat completions read pictures'], generate({ image_base64: 'aa' }, status(400, /chat/))),
]

const reply = (
  fields: readonly (readonly [number, string])[],
  request: Request,
  wanted: Readonly<Record<string, unknown>> = {},
) => fields.map(([number, name]) => works(number, `\`${name}\``, reads(request, has(name, wanted[name]))))

const loadReply: readonly Row[] = [
  ...reply(
    [
      [56, 'model'],
      [57, 'is_vision'],
      [58, 'has_audio_input'],
      [59, 'inference'],
      [60, 'context_length'],
      [61, 'chat_template'],
      [62, 'status'],
      [63, 'display_name'],
    ],
    tinyLoad,
    { model: 'tiny', is_vision: false, inference: (values: object) => Object.values(values).some((value) => value !== null) },
  ),
  works(64, '`is_lora`', reads(tinyLoad, has('is_lora', false))),
  ...reply(
    [
      [65, 'is_gguf'],
      [66, 'is_audio'],
      [67, 'audio_type'],
      [68, 'requires_trust_remote_code'],
      [69, 'max_context_length'],
      [70, 'native_context_length'],
      [71, 'supports_reasoning'],
      [72, 'reasoning_style'],
      [73, 'reasoning_always_on'],
      [74, 'supports_preserve_thinking'],
      [75, 'supports_tools'],
      [76, 'cache_type_kv'],
      [77, 'speculative_type'],
    ],
    tinyLoad,
    { is_gguf: true, supports_tools: true, reasoning_style: /\w/ },
  ),
]

const states: readonly Row[] = [
  ...reply(
    [
      [78, 'phase'],
      [79, 'bytes_loaded'],
      [80, 'bytes_total'],
      [81, 'fraction'],
    ],
    progress,
  ),
  works(82, '`loading`, `loaded`', reads(state, has('loading'), has('loaded'))),
  works(83, '`is_vision`, `has_audio_input`', reads(state, has('is_vision'), has('has_audio_input'))),
  ...reply(
    [
      [84, 'inference'],
      [85, 'context_length'],
      [86, 'active_model'],
      [87, 'is_gguf'],
      [88, 'gguf_variant'],
      [89, 'is_audio'],
      [90, 'audio_type'],
      [91, 'requires_trust_remote_code'],
      [92, 'supports_reasoning'],
      [93, 'reasoning_style'],
      [94, 'reasoning_always_on'],
      [95, 'supports_preserve_thinking'],
      [96, 'supports_tools'],
      [97, 'max_context_length'],
      [98, 'native_context_length'],
      [99, 'speculative_type'],
    ],
    state,
  ),
  works(
    100,
    'reports what a template can do',
    shownBy('../src/dialect/unsloth/template-abilities.test.ts', 'a chat template shows'),
  ),
  works(101, 'recommended sampling of a model: that of its file', reads(tinyLoad, has('inference.temperature'))),
]

const more: readonly Row[] = [
  works(
    252,
    'a projector beside the model is found',
    shownBy('e2e/media/vision-by-name.test.ts', 'reads pictures on llama-server'),
  ),
  works(
    253,
    'a LoRA adapter as `model_path`',
    shownBy('e2e/models/lora.test.ts', 'a load of the path of an adapter loads its model with it'),
  ),
  differs(
    254,
    ["a bare name gets the vendor's prefix", '404 with the names: a name that is misspelt is not fetched from elsewhere'],
    loadFields({ model_path: 'Llama-3.2-1B' }, status(404)),
  ),
  refused(
    255,
    ['models that are not GGUF', 'vLLM and SGLang serve them behind the same API'],
    shownBy('e2e/models/load-models.test.ts', 'a load from a repository'),
  ),
  works(
    256,
    'thinking when a request does not say: the same on each engine',
    shownBy('e2e/engines/chat-defaults.test.ts', 'a model thinks by default where its operator says so'),
  ),
  works(
    257,
    'GET /v1/models: quant, loaded, native and most context',
    get('/v1/models/tiny', has('loaded'), has('native_context_length'), has('max_context_length')),
  ),
  works(
    258,
    'an unload by `load_request_id` alone',
    post(`${api}/unload`, { load_request_id: 'x' }, (reply) => (reply.status === 400 ? reply.text : undefined)),
  ),
  works(
    259,
    '`hf_token` is in no log and no message',
    shownBy('e2e/models/download-models.test.ts', 'a repository is fetched with its own token, which nothing keeps'),
  ),
  works(
    260,
    'a load is cancelled by hang-up, name, or its id',
    shownBy('e2e/models/load-models.test.ts', 'a load that is cancelled while the engine starts'),
  ),
  works(261, 'servers of MCP', shownBy('e2e/server/mcp-servers.test.ts', 'works as a program')),
]

/** Loads of Unsloth Studio, and what it says of models. */
export const unslothModels: readonly Group[] = [
  { title: 'routes', rows: routes },
  { title: 'loads', rows: loads },
  { title: 'unloads and checks', rows: unloads },
  { title: 'POST /generate/stream', rows: generates },
  { title: 'what a load answers', rows: loadReply },
  { title: 'progress and status', rows: states },
  { title: 'models', rows: more },
]

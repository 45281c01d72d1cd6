import { type Check, has, status, text } from '../../checks.ts'
import {
  accepts,
  better,
  cleansUp,
  differs,
  type Group,
  get,
  post,
  prepares,
  prompt,
  type Request,
  type Row,
  reads,
  refused,
  refuses,
  type Step,
  shownBy,
  tiny,
  user,
  usesTools,
  works,
} from '../../row.ts'
import { unslothGenerations, unslothRoutes } from './unsloth-routes.ts'
import { api, loaded, loadOf, unloadOf } from './unsloth-steps.ts'

const loadFields = (fields: object, ...checks: readonly Check[]) =>
  post(`${api}/load`, { model_path: 'scripted', ...fields }, ...checks)
const validates = (fields: object, ...checks: readonly Check[]) =>
  post(`${api}/validate`, { model_path: 'tiny', ...fields }, ...checks)
const ofAdapter = { model_path: 'FOLDER/adapter.gguf' }
const isLoaded = has('status', 'loaded')
const hub = shownBy('e2e/models/load-models.test.ts', 'fetches the quantization, shows the bytes')
const seesOnLlamaServer = shownBy('e2e/media/vision-by-name.test.ts', 'in a folder reads pictures on llama-server')

const loads: readonly Row[] = [
  works(
    22,
    '`model_path`: a name, a repository, a file, a folder',
    ...loaded(loadOf({}, isLoaded, has('model', 'tiny'))),
    ...loaded(loadOf({ model_path: 'FOLDER/models/tiny.gguf' }, isLoaded, has('model', 'tiny'))),
    validates({ model_path: 'FOLDER/in-folder' }, has('valid', true), has('message', /in-folder-Q8_0\.gguf/)),
    loadFields({ model_path: 'zzz' }, status(404, /"detail":"there is no model 'zzz'/)),
    hub,
  ),
  works(23, '`hf_token`', hub),
  works(
    24,
    '`max_seq_length`',
    ...loaded(
      loadOf({ max_seq_length: 256 }, has('context_length', 256)),
      tiny({ model: 'tiny', messages: [user('word '.repeat(300))] }, has('error.code', 'context_length_exceeded')),
    ),
    ...loaded(loadOf({ max_seq_length: 0 }, has('context_length', 4096))),
    refuses(loadFields({ max_seq_length: -1 }), 'max_seq_length'),
  ),
  differs(
    25,
    ['`load_in_4bit`', 'the file of a GGUF model says how it is quantized; `gguf_variant` chooses the file'],
    ...loaded(accepts(loadOf({ load_in_4bit: true }, isLoaded)), get('/v1/models/tiny', has('quant', 'Q8_0'))),
  ),
  differs(
    26,
    ['`is_lora`', 'found out from the file, as there'],
    loadFields({ is_lora: true }, has('is_lora', false)),
    validates(ofAdapter, has('is_lora', true)),
  ),
  works(27, '`gguf_variant`', hub, refuses(loadOf({ gguf_variant: 'Q4_0' }), 'gguf_variant')),
  refused(
    28,
    ['`trust_remote_code`', 'GGUF files have no code'],
    refuses(loadFields({ trust_remote_code: true }), 'trust_remote_code'),
    loadFields({ trust_remote_code: false }, has('model', 'scripted')),
  ),
  works(
    29,
    '`chat_template_override`',
    ...loaded(
      loadOf({ chat_template_override: '[{{ messages[0].content }}]' }, isLoaded, has('chat_template', /^\[/)),
      prompt('tiny', [user('xyz')], has('prompt', '[xyz]')),
    ),
    refuses(loadOf({ chat_template_override: '{% if %}' }), 'chat_template_override'),
  ),
  better(
    30,
    ['`cache_type_kv`', 'an unknown one is a 400'],
    ...loaded(loadOf({ cache_type_kv: 'q4_0' }, isLoaded, has('cache_type_kv', 'q4_0'))),
    refuses(loadFields({ cache_type_kv: 'zzz' }), 'cache_type_kv'),
  ),
  refused(
    31,
    ['`gpu_ids`', 'the devices of a process are chosen where it starts, as the error says; `[]` is accepted'],
    loadFields({ gpu_ids: [1] }, status(400, /CUDA_VISIBLE_DEVICES.*"param":"gpu_ids"/)),
    loadFields({ gpu_ids: [] }, has('model', 'scripted')),
  ),
  works(
    32,
    '`speculative_type`',
    ...loaded(loadOf({ speculative_type: 'ngram-simple' }, isLoaded, has('speculative_type', 'ngram-simple'))),
    ...loaded(loadOf({ speculative_type: 'off' }, isLoaded, has('speculative_type', null))),
    refuses(loadFields({ speculative_type: 'zzz' }), 'speculative_type'),
  ),
]

const validated = (number: number, name: string, ...pairs: readonly (readonly [fields: object, value: unknown])[]) =>
  works(number, `\`${name}\``, ...pairs.map(([fields, value]) => validates(fields, has(name, value))))

const unloads: readonly Row[] = [
  works(
    33,
    '`model_path` of an unload',
    ...['TINY', 'FOLDER/models/tiny.gguf'].flatMap((name) => [
      prepares(loadOf({ model_path: name }, isLoaded)),
      unloadOf(name, has('model', 'tiny')),
      get('/v1/models/tiny', has('loaded', false)),
    ]),
    unloadOf('zzz', status(404, /detail/)),
    refuses(post(`${api}/unload`, {}), 'model_path'),
  ),
  works(
    34,
    '`status` of an unload',
    unloadOf('tiny', has('status', 'unloaded')),
    post(`${api}/unload`, { load_request_id: 'nothing' }, has('status', 'cancelled')),
  ),
  works(35, '`model` of an unload', unloadOf('TINY', has('model', 'tiny'))),
  works(
    36,
    '`model_path` to validate',
    validates({}, has('identifier', 'tiny')),
    validates({ model_path: 'FOLDER/models/tiny.gguf' }, has('identifier', 'tiny')),
    validates({ model_path: 'zzz' }, status(404)),
    shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'a model is found without loading it'),
  ),
  works(
    37,
    '`hf_token` to validate',
    shownBy(
      '../src/http/routes/local-servers/lifecycle-routes.test.ts',
      'a gated repository is looked up with the token of the request',
    ),
  ),
  works(
    38,
    '`gguf_variant` to validate',
    validates({ gguf_variant: 'Q8_0' }, has('valid', true)),
    refuses(validates({ gguf_variant: 'Q4_0' }), 'gguf_variant'),
    shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'a model is found without loading it'),
  ),
  validated(39, 'valid', [{}, true]),
  validated(40, 'message', [{}, 'tiny is tiny.gguf']),
  validated(41, 'identifier', [{ model_path: 'TINY' }, 'tiny']),
  validated(42, 'display_name', [{}, 'tiny'], [{ model_path: 'FOLDER/in-folder' }, 'in-folder']),
  validated(43, 'is_gguf', [{}, true], [{ model_path: 'vllm' }, false]),
  validated(44, 'is_lora', [{}, false], [ofAdapter, true]),
  works(45, '`is_vision`', validates({}, has('is_vision', false)), seesOnLlamaServer),
  validated(46, 'requires_trust_remote_code', [{}, false]),
]

/** Loads that each reply is read of, and what unloads them. */
const tinyLoad: Request = {
  call: `POST ${api}/load`,
  body: {
    model_path: 'TINY',
    max_seq_length: 1024,
    n_parallel: 2,
    cache_type_kv: 'q8_0',
    speculative_type: 'ngram-simple',
  },
}
const templateLoad = (chat_template_override: string): Request => ({
  call: `POST ${api}/load`,
  body: { model_path: 'tiny', chat_template_override },
})
/** A template that shows no ability, and others. */
const plainLoad = templateLoad('{{ messages[0].content }}')
const effortLoad = templateLoad('{{ reasoning_effort }}{{ preserve_thinking }}')
const alwaysLoad = templateLoad('{{ messages[0].content }}<think></think>')
const fakeLoad: Request = { call: `POST ${api}/load`, body: { model_path: 'scripted' } }
const advisedLoad: Request = { call: `POST ${api}/load`, body: { model_path: 'advised' } }
const adapterLoad: Request = { call: `POST ${api}/load`, body: ofAdapter }

/** That replies of loads have these values. */
function shows(name: string, ...pairs: readonly (readonly [load: Request, value: unknown])[]): readonly Step[] {
  return pairs.flatMap(([request, value]) => {
    const { model_path: model } = request.body as { readonly model_path: string }
    return [reads(request, has(name, value)), ...(request === fakeLoad ? [] : [cleansUp(unloadOf(model))])]
  })
}
const answers = (number: number, name: string, ...pairs: readonly (readonly [load: Request, value: unknown])[]) =>
  works(number, `\`${name}\``, ...shows(name, ...pairs))
const inference = { temperature: 0.8, top_p: 0.95, top_k: 40, min_p: 0.05, presence_penalty: 0, trust_remote_code: false }
const always = (value: false | null) =>
  `always ${value}: no model of this server speaks itself; a server of speech does, through \`services\``

const loadReply: readonly Row[] = [
  answers(56, 'model', [tinyLoad, 'tiny'], [fakeLoad, 'scripted']),
  works(57, '`is_vision`', ...shows('is_vision', [tinyLoad, false], [fakeLoad, true]), seesOnLlamaServer),
  answers(58, 'has_audio_input', [tinyLoad, false], [fakeLoad, true]),
  answers(59, 'inference', [tinyLoad, inference], [advisedLoad, { ...inference, temperature: 0.25, top_k: 7 }]),
  answers(60, 'context_length', [tinyLoad, 1024], [plainLoad, 4096]),
  answers(61, 'chat_template', [tinyLoad, /<\|im_start\|>/], [plainLoad, '{{ messages[0].content }}']),
  works(
    62,
    '`status`',
    ...loaded(
      loadOf({ max_seq_length: 512 }, isLoaded),
      loadOf({ max_seq_length: 512 }, has('status', 'already_loaded')),
      loadOf({ max_seq_length: 256 }, isLoaded),
    ),
  ),
  answers(63, 'display_name', [tinyLoad, 'tiny']),
  answers(64, 'is_lora', [tinyLoad, false], [adapterLoad, true]),
  answers(65, 'is_gguf', [tinyLoad, true], [fakeLoad, false]),
  differs(66, ['`is_audio`', always(false)], ...shows('is_audio', [tinyLoad, false])),
  differs(67, ['`audio_type`', always(null)], ...shows('audio_type', [tinyLoad, null])),
  answers(68, 'requires_trust_remote_code', [tinyLoad, false]),
  answers(69, 'max_context_length', [tinyLoad, 4096]),
  answers(70, 'native_context_length', [tinyLoad, 4096]),
  answers(71, 'supports_reasoning', [tinyLoad, true], [plainLoad, false]),
  answers(72, 'reasoning_style', [tinyLoad, 'enable_thinking'], [effortLoad, 'reasoning_effort']),
  answers(73, 'reasoning_always_on', [tinyLoad, false], [alwaysLoad, true]),
  answers(74, 'supports_preserve_thinking', [tinyLoad, false], [effortLoad, true]),
  answers(75, 'supports_tools', [tinyLoad, true], [plainLoad, false]),
  answers(76, 'cache_type_kv', [tinyLoad, 'q8_0'], [plainLoad, null]),
  answers(77, 'speculative_type', [tinyLoad, 'ngram-simple'], [plainLoad, null]),
]

/** What the status says while a model of such a load is active. */
function statusAfter({ ...load }: Request) {
  const state: Request = { call: `GET ${api}/status` }
  const { model_path: model } = load.body as { readonly model_path: string }
  return (...checks: readonly Check[]): readonly Step[] => [
    prepares(reads(load, has('model'))),
    reads(state, ...checks),
    ...(load.body === fakeLoad.body ? [] : [cleansUp(unloadOf(model))]),
  ]
}
const [withTiny, withPlain, withEffort, withAlways, withAdvised, withFake] = [
  statusAfter(tinyLoad),
  statusAfter(plainLoad),
  statusAfter(effortLoad),
  statusAfter(alwaysLoad),
  statusAfter(advisedLoad),
  statusAfter(fakeLoad),
]
const says = (number: number, name: string, ...pairs: readonly (readonly [after: typeof withTiny, value: unknown])[]) =>
  works(number, `\`${name}\``, ...pairs.flatMap(([after, value]) => after(has(name, value))))
const includes = (name: string) => (all: readonly string[]) => all.includes(name)
const progress: Request = { call: `GET ${api}/load-progress` }

const states: readonly Row[] = [
  works(78, '`phase`', reads(progress, has('phase', 'ready')), hub),
  works(79, '`bytes_loaded`', reads(progress, has('bytes_loaded', 0)), hub),
  works(80, '`bytes_total`', reads(progress, has('bytes_total', 0)), hub),
  works(81, '`fraction`', reads(progress, has('fraction', 1)), hub),
  works(
    82,
    '`loading`, `loaded`',
    ...withTiny(has('loading', []), has('loaded', includes('tiny'))),
    get(
      `${api}/status`,
      has('loaded', (all: readonly string[]) => !all.includes('tiny')),
    ),
    hub,
  ),
  works(
    83,
    '`is_vision`, `has_audio_input`',
    ...withTiny(has('is_vision', false), has('has_audio_input', false)),
    ...withFake(has('is_vision', true), has('has_audio_input', true)),
  ),
  says(84, 'inference', [withTiny, inference], [withAdvised, { ...inference, temperature: 0.25, top_k: 7 }]),
  says(85, 'context_length', [withTiny, 1024], [withPlain, 4096]),
  says(86, 'active_model', [withTiny, 'tiny'], [withAdvised, 'advised'], [withFake, 'scripted']),
  says(87, 'is_gguf', [withTiny, true], [withFake, false]),
  works(88, '`gguf_variant`', ...withTiny(has('gguf_variant', null)), hub),
  differs(89, ['`is_audio`', always(false)], ...withTiny(has('is_audio', false))),
  differs(90, ['`audio_type`', always(null)], ...withTiny(has('audio_type', null))),
  says(91, 'requires_trust_remote_code', [withTiny, false]),
  says(92, 'supports_reasoning', [withTiny, true], [withPlain, false]),
  says(93, 'reasoning_style', [withTiny, 'enable_thinking'], [withEffort, 'reasoning_effort']),
  says(94, 'reasoning_always_on', [withTiny, false], [withAlways, true]),
  says(95, 'supports_preserve_thinking', [withTiny, false], [withEffort, true]),
  says(96, 'supports_tools', [withTiny, true], [withPlain, false]),
  says(97, 'max_context_length', [withTiny, 4096]),
  says(98, 'native_context_length', [withTiny, 4096]),
  says(99, 'speculative_type', [withTiny, 'ngram-simple'], [withPlain, null]),
  works(
    100,
    'reports what a template can do',
    ...withTiny(has('supports_reasoning', true), has('supports_tools', true)),
    ...withPlain(has('supports_reasoning', false), has('supports_tools', false)),
    shownBy('../src/dialect/unsloth/template-abilities.test.ts', 'a chat template shows'),
  ),
  works(
    101,
    'recommended sampling of a model: that of its file',
    ...shows('inference', [advisedLoad, { ...inference, temperature: 0.25, top_k: 7 }]),
    shownBy('e2e/models/model-settings.test.ts', 'hold for a request that says nothing'),
  ),
]

const more: readonly Row[] = [
  works(252, 'a projector beside the model is found', seesOnLlamaServer),
  works(
    253,
    'a LoRA adapter as `model_path`',
    validates(ofAdapter, has('identifier', 'advised'), has('is_lora', true)),
    loadFields(ofAdapter, has('model', 'advised'), has('is_lora', true)),
    cleansUp(unloadOf(ofAdapter.model_path)),
    shownBy('e2e/models/lora.test.ts', 'a load of the path of an adapter loads its model with it'),
  ),
  differs(
    254,
    ["a bare name gets the vendor's prefix", '404 with the names: a name that is misspelt is not fetched from elsewhere'],
    loadFields({ model_path: 'Llama-3.2-1B' }, status(404, /"detail":"there is no model 'Llama-3\.2-1B'.*scripted/)),
  ),
  refused(
    255,
    ['models that are not GGUF', 'vLLM and SGLang serve them behind the same API'],
    loadFields({ model_path: 'FOLDER/safetensors' }, status(404, /there is no GGUF model at/)),
  ),
  works(
    256,
    'thinking when a request does not say: the same on each engine',
    tiny({ max_tokens: 8 }, has('choices.0.message.reasoning_content', null)),
    shownBy('e2e/engines/chat-defaults.test.ts', 'engines render one file alike where nobody says anything'),
  ),
  differs(
    257,
    ['GET /v1/models: quant, loaded, native and most context', '`max_context_length` is what a load with these settings gives'],
    ...loaded(
      loadOf({ max_seq_length: 1024 }, isLoaded),
      get('/v1/models/tiny', has('loaded', true), has('quant', 'Q8_0'), has('context_length', 1024)),
      get('/v1/models/tiny', has('native_context_length', 4096), has('max_context_length', 1024)),
    ),
    get('/v1/models/tiny', has('loaded', false), has('max_context_length', 4096)),
  ),
  works(
    258,
    'an unload by `load_request_id` alone',
    post(`${api}/unload`, { load_request_id: 'u258' }, has('status', 'cancelled'), has('cancelled', 0)),
    // The cancel came before its load.
    loadOf({ load_request_id: 'u258' }, status(499)),
    ...loaded(loadOf({ load_request_id: 'u258' }, isLoaded)),
  ),
  works(
    259,
    '`hf_token` is in no log and no message',
    loadFields({ model_path: 'zzz', hf_token: 'hf_u259' }, status(404, /^(?!.*hf_u259)/s)),
    shownBy('e2e/models/download-models.test.ts', 'a repository is fetched with its own token, which nothing keeps'),
    hub,
  ),
  works(
    260,
    'a load is cancelled by hang-up, name, or its id',
    shownBy(
      '../src/http/routes/local-servers/lifecycle-routes.test.ts',
      'C44: is cancelled by unloading its model, and by a client that leaves',
    ),
    shownBy('../src/http/routes/local-servers/lifecycle-routes.test.ts', 'C45: is cancelled by its own id, of its own key'),
  ),
  works(
    261,
    'servers of MCP',
    usesTools('call docs__echo {"text": "so be it"}', { enabled_tools: ['docs'] }, text(/so be it$/)),
    shownBy('e2e/server/mcp-servers.test.ts', 'works as a program'),
  ),
]

/** Loads of Unsloth Studio, and what it says of models. */
export const unslothModels: readonly Group[] = [
  ...unslothRoutes,
  { title: 'loads', rows: loads },
  { title: 'unloads and checks', rows: unloads },
  unslothGenerations,
  { title: 'what a load answers', rows: loadReply },
  { title: 'progress and status', rows: states },
  { title: 'models', rows: more },
]

import { tabbyDefaults } from '../../support/tabby-defaults.ts'
import { body, type Check, event, has, status, text } from '../checks.ts'
import {
  better,
  chat,
  complete,
  differs,
  type Group,
  get,
  imagePart,
  post,
  type Row,
  shownBy,
  textPart,
  tiny,
  tinyComplete,
  tool,
  user,
  works,
} from '../row.ts'
import { redPixel } from '../servers.ts'

const load = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/model/load', { model_name: 'scripted', ...fields }, ...checks)
const finished = event('status', 'finished')

const rest: readonly Row[] = [
  works(134, 'load events, also of draft and vision parts', load({}, event('model_type'), finished)),
  differs(
    135,
    [
      'load parameters',
      '`max_seq_len`, `cache_mode`, `chunk_size`, `max_batch_size`, `prompt_template`, the draft model; several GPUs are `args` of llama-server, and RoPE is the setting `rope`',
    ],
    load({ max_seq_len: 400, max_batch_size: 4 }, finished),
    load({ rope_alpha: 2 }, status(400, /rope_alpha/)),
    load({ gpu_split: [1, 2] }, status(400, /gpu_split/)),
  ),
  works(136, 'loads at the same time', shownBy('e2e/models/load-models.test.ts', 'streams of others alone')),
  better(
    137,
    ['without `use_vision`, pictures are dropped', 'a 400'],
    tiny({ messages: [user([imagePart(`data:image/png;base64,${redPixel}`)])] }, status(400, /image/)),
  ),
  works(
    138,
    'pictures as data or by URL',
    chat({ messages: [user([textPart('x'), imagePart(`data:image/png;base64,${redPixel}`)])] }, text(/image\/png/)),
  ),
  better(
    139,
    ['embeddings: float, base64, lists', 'also token ids and `dimensions`'],
    post(
      '/v1/embeddings',
      { model: 'scripted', input: ['a'], dimensions: 4, encoding_format: 'base64' },
      has('data.0.embedding', /./),
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
    chat({ stream: true, messages: [user('{"chunks":["a","b"],"failAfter":1}')] }, event('error.message'), body(/\[DONE\]/)),
  ),
  works(
    142,
    'a prompt that is too long: 400',
    chat({ model: 'short', messages: [user('a '.repeat(30))] }, status(400, /context_length_exceeded/)),
  ),
  differs(
    143,
    ['422 for a request that was cancelled', 'its client has left: 499 in the log'],
    shownBy('../src/http/routes/own/cancel-route.test.ts', 'the log has one line about each run that was stopped'),
  ),
  better(
    144,
    ['a crash ends all jobs', 'the worker starts again, and streams are continued'],
    shownBy('e2e/models/lifecycle.test.ts', 'because it is killed from outside is missed by no reader'),
  ),
  differs(
    145,
    ['503 without a model', 'a 404 for an unknown name; 503 with `Retry-After` for one that cannot be loaded'],
    chat({ model: 'zzz' }, status(404)),
  ),
  better(
    146,
    ['a route that aborts', 'POST /api/inference/cancel, and `/api/extra/abort`'],
    post('/api/inference/cancel', { cancel_id: 'nothing' }, has('cancelled', 0)),
  ),
  better(
    147,
    ['a client leaves during either pass', 'its slot is free at once'],
    shownBy('e2e/models/lifecycle.test.ts', 'the slot is free within 250 ms'),
  ),
  works(
    148,
    'requests are kept and sent again: `log.captureFolder`, `dragoman replay`',
    shownBy('../src/http/capture/capture.test.ts', 'a request is kept as it came'),
  ),
]

/** What SillyTavern sends to tabbyAPI besides the prompt. */
const sillyTavern = {
  max_new_tokens: 20,
  max_tokens: 20,
  logprobs: 10,
  temperature: 0.7,
  top_p: 0.9,
  typical_p: 1,
  typical: 1,
  sampler_seed: -1,
  seed: -1,
  min_p: 0.05,
  repetition_penalty: 1.1,
  frequency_penalty: 0,
  presence_penalty: 0,
  top_k: 40,
  skew: 0,
  min_tokens: 0,
  length_penalty: 1,
  early_stopping: false,
  add_bos_token: true,
  dynamic_temperature: false,
  dynatemp_low: 1,
  dynatemp_high: 1,
  dynatemp_range: 0,
  dynatemp_exponent: 1,
  smoothing_factor: 0,
  smoothing_curve: 1,
  dry_allowed_length: 2,
  dry_multiplier: 0,
  dry_base: 1.75,
  dry_sequence_breakers: '["\\n"]',
  dry_penalty_last_n: 0,
  max_tokens_second: 0,
  stopping_strings: ['\nUser:'],
  stop: ['\nUser:'],
  truncation_length: 2048,
  ban_eos_token: false,
  skip_special_tokens: true,
  include_reasoning: true,
  top_a: 0,
  tfs: 1,
  mirostat_mode: 0,
  mirostat_tau: 5,
  mirostat_eta: 0.1,
  custom_token_bans: '',
  banned_strings: [],
  guidance_scale: 1,
  negative_prompt: '',
  grammar_string: '',
  json_schema: null,
  xtc_threshold: 0.1,
  xtc_probability: 0,
  nsigma: 0,
  min_keep: 0,
  adaptive_target: -0.01,
  adaptive_decay: 0.9,
  num_ctx: 2048,
  rep_pen: 1.1,
  rep_pen_range: 0,
  repetition_decay: 0,
  repetition_penalty_range: 0,
  n_probs: 10,
  temperature_last: true,
}
const moved = { temperature: 3, typical: 0.9, mirostat_mode: 2, dynamic_temperature: true, min_temp: 0.5, max_temp: 2 }

const clients: readonly Row[] = [
  works(
    149,
    'SillyTavern: its default body',
    tinyComplete({ ...sillyTavern, logprobs: undefined, n_probs: undefined }, has('choices.0.text')),
  ),
  works(150, 'SillyTavern with the probabilities of tokens', tinyComplete(sillyTavern, has('choices.0.logprobs.top_logprobs.0'))),
  works(
    151,
    'SillyTavern connects, counts tokens and swipes',
    get('/v1/model/list'),
    get('/v1/model'),
    tinyComplete({ n: 2, stream: true }, event('choices.0.index', 1)),
  ),
  works(
    152,
    'SillyTavern with its sliders moved',
    tinyComplete(
      {
        ...moved,
        top_a: 0.5,
        smoothing_factor: 0.3,
        tfs: 0.9,
        skew: 0.1,
        guidance_scale: 1.2,
        negative_prompt: 'x',
        banned_strings: ['zzz'],
      },
      status(200),
    ),
  ),
  works(153, 'more than 16 stop sequences', chat({ stop: Array.from({ length: 40 }, (_, index) => `s${index}`) }, text('hello'))),
  works(
    154,
    'bodies of loaders: numbers as texts, switches that change nothing',
    load({ max_seq_len: '512', no_flash_attention: false }, finished),
  ),
  works(
    155,
    '`draft`, another name of `draft_model`',
    load({ model_name: 'tiny', draft: { draft_model_name: 'tiny' } }, status(200)),
  ),
  works(
    156,
    'empty texts of input boxes',
    load({ prompt_template: '', draft_model: null }, finished),
    post('/v1/download', { repo_id: '', revision: '' }, status(400, /repo_id/)),
  ),
  works(
    157,
    'the card after a load with `prompt_template`',
    load({ prompt_template: 'described' }, finished),
    get('/v1/model', has('parameters.prompt_template', 'described')),
    load({}, finished),
  ),
  works(
    158,
    '`detail` in errors of its own routes; others have the envelope of OpenAI',
    load({ rope_alpha: 2 }, has('detail'), has('error.message')),
    chat({ model: 'zzz' }, has('error.message')),
  ),
  works(
    159,
    'a load waits for requests that run',
    shownBy('../src/http/routes/local-servers/tabby-routes.test.ts', 'a load waits for the requests that use the model'),
  ),
  works(
    160,
    'a client leaves during its load',
    shownBy('e2e/models/load-models.test.ts', 'a load that is cancelled while the engine starts'),
  ),
  works(
    161,
    'embeddings without `model` after a load to embed',
    post('/v1/model/embedding/load', { embedding_model_name: 'short' }),
    post('/v1/embeddings', { input: 'a' }, has('model', 'short')),
    post('/v1/model/embedding/unload', {}),
  ),
  differs(
    162,
    [
      'completions without `max_tokens` fill the context',
      "16 tokens, as in OpenAI's API; -1 fills it, and so does a preset with a large `max_tokens`",
    ],
    complete({ prompt: 'a '.repeat(30) }, has('choices.0.finish_reason', 'length')),
    complete({ prompt: 'a '.repeat(30), max_tokens: -1 }, has('choices.0.finish_reason', 'stop')),
    post('/v1/sampling/override/switch', { overrides: { max_tokens: { override: 100_000 } } }),
    complete({ prompt: 'b '.repeat(30) }, has('choices.0.finish_reason', 'stop')),
    post('/v1/sampling/override/unload', {}),
  ),
  works(163, 'a body with the default of every field', tinyComplete(tabbyDefaults, has('choices.0.text'))),
  differs(
    164,
    ['`functions`: any list, for the template', "OpenAI's field, whose functions have names; the template sees them"],
    chat({ functions: [{ name: 'f' }] }, text('hello')),
    chat({ functions: [1] }, status(400, /functions/)),
  ),
  differs(
    165,
    ['any text is a role', 'a 400 with the roles: most templates leave out a turn of another one, as if it were not there'],
    chat({ messages: [{ role: 'x', content: 'a' }] }, status(400, /role/)),
  ),
  works(
    166,
    'calls that a named choice drops are not in the text',
    chat(
      {
        model: 'writes-hermes',
        tools: [tool(), tool('g')],
        tool_choice: { type: 'function', function: { name: 'g' } },
        messages: [
          user(
            JSON.stringify({
              raw: '<tool_call>{"name":"f","arguments":{}}</tool_call><tool_call>{"name":"g","arguments":{}}</tool_call>',
            }),
          ),
        ],
      },
      has('choices.0.message.content', null),
    ),
  ),
  works(167, '`response_prefix` with `json_schema`, `n`, tools', tiny({ response_prefix: '{', n: 2 }, has('choices.1'))),
  works(
    168,
    'thinking when a request does not say, on each engine',
    shownBy('e2e/engines/chat-defaults.test.ts', 'a model thinks by default where its operator says so'),
  ),
  better(
    169,
    ['other models end with a load', 'they go on'],
    shownBy('e2e/models/load-models.test.ts', 'streams of others alone'),
  ),
  works(
    170,
    'calls of `n` choices in a stream',
    chat(
      {
        model: 'writes-hermes',
        n: 2,
        stream: true,
        tools: [tool()],
        messages: [user(JSON.stringify({ raw: '<tool_call>{"name":"f","arguments":{}}</tool_call>' }))],
      },
      event('choices.0.index', 1),
    ),
  ),
  works(171, 'a second unload: 400', post('/v1/model/unload', {}), post('/v1/model/unload', {}, status(400, /load/))),
  works(172, '`max_tokens: null`: until the model stops', chat({ max_tokens: null }, text('hello'))),
  works(
    173,
    'token routes, templates and LoRA without `model`',
    load({}, finished),
    post('/v1/token/encode', { text: 'ab' }, has('length', 2)),
    get('/v1/templates'),
    get('/v1/lora'),
  ),
]

/** Loads, errors and clients of tabbyAPI. */
export const tabbyClients: readonly Group[] = [
  { title: 'loads, media and errors', rows: rest },
  { title: 'clients', rows: clients },
]

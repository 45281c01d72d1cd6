import { tabbyDefaults } from '../../support/tabby-defaults.ts'
import { fine } from '../answers.ts'
import { type Check, calls, event, finish, has, status, text, upstreamGot, valueAt } from '../checks.ts'
import {
  chat,
  cleansUp,
  complete,
  differs,
  type Group,
  get,
  keeps,
  over,
  post,
  type Row,
  shownBy,
  tiny,
  tinyComplete,
  tool,
  user,
  works,
} from '../row.ts'
import { draws, finished, load, overrides, unloadModel, unloadPreset } from './tabby-steps.ts'

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

const sliders = {
  top_a: 0.5,
  smoothing_factor: 0.3,
  tfs: 0.9,
  skew: 0.1,
  guidance_scale: 1.2,
  negative_prompt: 'x',
  banned_strings: ['zzz'],
}

const sillyTavernRows: readonly Row[] = [
  works(
    149,
    'SillyTavern: its default body',
    tinyComplete(
      { ...sillyTavern, logprobs: undefined, n_probs: undefined },
      has('choices.0.text', /\w/),
      has('usage.completion_tokens', (count: number) => count > 0 && count <= 20),
    ),
    tinyComplete(
      { ...sillyTavern, logprobs: undefined, n_probs: undefined, stream: true },
      event('choices.0.text', /\w/),
      event('choices.0.finish_reason', /stop|length/),
    ),
  ),
  works(
    150,
    'SillyTavern with the probabilities of tokens',
    tinyComplete(
      sillyTavern,
      has('choices.0.logprobs.top_logprobs.0', (top: object) => Object.keys(top).length === 10),
    ),
  ),
  works(
    151,
    'SillyTavern connects, counts tokens and swipes',
    get('/v1/model/list', has('data.0.id', 'scripted')),
    load({}, finished),
    get('/v1/model', has('id', 'scripted')),
    post('/v1/token/encode', { text: 'ab' }, has('length', 2)),
    tinyComplete({ n: 2, stream: true }, event('choices.0.index', 0), event('choices.0.index', 1)),
    cleansUp(unloadModel()),
  ),
  works(
    152,
    'SillyTavern with its sliders moved',
    tinyComplete(
      { ...moved, ...sliders },
      has('choices.0.text', /./),
      notIgnored(...Object.keys(sliders), ...Object.keys(moved)),
    ),
    over(
      fine,
      { model: 'dragoman', ...moved, ...sliders, guidance_scale: 1, negative_prompt: '' },
      upstreamGot('temperature', 1.25),
      upstreamGot('top_a', 0.5),
      upstreamGot('smoothing_factor', 0.3),
      upstreamGot('skew', 0.1),
      upstreamGot('banned_strings', ['zzz']),
      upstreamGot('mirostat', 2),
      upstreamGot('typical_p', 0.9),
      upstreamGot('dynatemp_range', 0.75),
      upstreamGot('tfs', 0.9),
    ),
  ),
  works(
    153,
    'more than 16 stop sequences',
    chat({ stop: Array.from({ length: 40 }, (_, index) => `s${index}`) }, text('hello')),
    chat(
      { messages: [user('a end39 b')], stop: Array.from({ length: 40 }, (_, index) => `end${index}`) },
      text(/^a\s?$/),
      has('choices.0.stop_reason', /end3/),
    ),
  ),
]

const callOfF = '<tool_call>{"name":"f","arguments":{}}</tool_call>'

const bodies: readonly Row[] = [
  differs(
    162,
    [
      'completions without `max_tokens` fill the context',
      "16 tokens, as in OpenAI's API; -1 fills it, and so does a preset with a large `max_tokens`",
    ],
    complete({ prompt: 'a '.repeat(30) }, finish('length'), has('usage.completion_tokens', 16)),
    complete({ prompt: 'a '.repeat(30), max_tokens: -1 }, finish('stop')),
    overrides({ max_tokens: { override: 100_000 } }, has('overrides.max_tokens.override', 100_000)),
    complete({ prompt: 'b '.repeat(30) }, finish('stop')),
    cleansUp(unloadPreset()),
  ),
  works(
    163,
    'a body with the default of every field',
    keeps(draws({ max_tokens: 4, n: 1 }), { ...tabbyDefaults }),
    tiny({ ...tabbyDefaults, seed: 7 }, text(/\w/)),
  ),
  differs(
    164,
    ['`functions`: any list, for the template', "OpenAI's field, whose functions have names; the template sees them"],
    post('/apply-template', { model: 'described', messages: [user('x')], functions: [{ name: 'look' }] }, has('prompt', /look/)),
    chat({ functions: [{ name: 'f' }] }, text('hello')),
    chat({ functions: [1] }, status(400, /functions/)),
  ),
  differs(
    165,
    ['any text is a role', 'a 400 with the roles: most templates leave out a turn of another one, as if it were not there'],
    chat({ messages: [{ role: 'x', content: 'a' }] }, status(400, /role.*assistant/)),
  ),
  works(
    166,
    'calls that a named choice drops are not in the text',
    chat(
      {
        model: 'writes-hermes',
        tools: [tool(), tool('g')],
        tool_choice: { type: 'function', function: { name: 'g' } },
        messages: [user(JSON.stringify({ raw: `${callOfF}${callOfF.replace('"f"', '"g"')}` }))],
      },
      has('choices.0.message.content', null),
      calls('g({})'),
    ),
  ),
  works(
    167,
    '`response_prefix` with `json_schema`, `n`, tools',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', messages: [user('x')], tools: [tool()], response_prefix: 'So: ' },
      has('prompt', /"f".*assistant\nSo: $/s),
    ),
    tiny(
      { response_prefix: 'So: ', n: 2, json_schema: { const: 7 }, max_tokens: 20 },
      has('choices.0.message.content', '7'),
      has('choices.1.message.content', '7'),
    ),
    tiny(
      {
        response_prefix: 'So: ',
        tools: [tool('f', { type: 'object', properties: {} })],
        tool_choice: 'required',
        max_tokens: 40,
      },
      calls('f({})'),
    ),
  ),
  works(
    168,
    'thinking when a request does not say, on each engine',
    shownBy(
      'e2e/engines/chat-defaults.test.ts',
      'a model thinks by default where its operator says so, and counts what it is given',
    ),
    shownBy('e2e/engines/chat-defaults.test.ts', "with its operator's defaults"),
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
        messages: [user(JSON.stringify({ raw: callOfF }))],
      },
      ...[0, 1].map((index) => event('choices.0', { index, delta: {}, logprobs: null, finish_reason: 'tool_calls' })),
      ({ events }) => {
        const places = events.filter((one) => valueAt(one, 'choices.0.delta.tool_calls.0.function.name') === 'f')
        return places.length === 2 ? undefined : `${places.length} calls, not 2`
      },
    ),
  ),
  works(
    172,
    '`max_tokens: null`: until the model stops',
    chat({ max_tokens: null, messages: [user('a '.repeat(30))] }, finish('stop')),
  ),
]

/** No field is named as ignored. */
function notIgnored(...names: readonly string[]): Check {
  return ({ headers }) => {
    const ignored = (headers.get('x-dragoman-ignored') ?? '').split(/,\s*/).filter((name) => names.includes(name))
    return ignored.length === 0 ? undefined : `ignored: ${ignored}`
  }
}

/** Clients of tabbyAPI. */
export const tabbyClients: readonly Group[] = [
  { title: 'SillyTavern', rows: sillyTavernRows },
  { title: 'bodies of clients', rows: bodies },
]

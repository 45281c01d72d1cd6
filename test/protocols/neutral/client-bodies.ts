import { fieldsOf, ownFolder, readRecordings, routeOf } from '../../clients/recording.ts'
import { tabbyDefaults } from '../../support/tabby-defaults.ts'

export type ClientBody = { readonly client: string; readonly path: string; readonly body: object }

/** What SillyTavern's preset has on. */
const presetOff = { min_p: 0, repetition_penalty: 1, rep_pen: 1, repeat_penalty: 1 }

/** SillyTavern's bodies for each kind of server that it knows, with the preset's samplers switched off. */
const sillyTavern: readonly ClientBody[] = [...readRecordings(ownFolder)].flatMap(([name, recording]) => {
  const body = fieldsOf(recording.body)
  const generates = name.startsWith('sillytavern/') && 'temperature' in { ...body, ...fieldsOf(body.options) }
  if (!generates || /probabilities/.test(name)) return []
  const options = body.options === undefined ? {} : { options: switchedOff(fieldsOf(body.options)) }
  return [{ client: `SillyTavern (${name})`, path: routeOf(recording), body: { ...switchedOff(body), ...options } }]
})

function switchedOff(body: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries({ ...body, stream: false }).map(([name, value]) => [name, Reflect.get(presetOff, name) ?? value]),
  )
}

/** KoboldAI Lite's, with its preset's penalty and temperature switched off. */
const lite = {
  prompt: 'hi',
  n: 1,
  max_context_length: 4096,
  max_length: 4,
  rep_pen: 1,
  temperature: 1,
  top_p: 0.92,
  top_a: 0,
  typical: 1,
  tfs: 1,
  rep_pen_range: 360,
  rep_pen_slope: 0.7,
  sampler_order: [6, 0, 1, 3, 4, 2, 5],
  memory: '',
  trim_stop: true,
  min_p: 0,
  dynatemp_range: 0,
  dynatemp_exponent: 1,
  smoothing_factor: 0,
  smoothing_curve: 1,
  nsigma: 0,
  banned_tokens: [],
  render_special: false,
  logprobs: false,
  presence_penalty: 0,
  logit_bias: {},
  stop_sequence: ['\nUser:'],
  use_default_badwordsids: false,
  bypass_eos: false,
  adaptive_target: -1,
  adaptive_decay: 0.9,
}

/** The sampling fields of text-generation-webui, at their defaults. */
const webui = {
  temperature: 1,
  dynatemp_low: 1,
  dynatemp_high: 1,
  dynatemp_exponent: 1,
  smoothing_factor: 0,
  smoothing_curve: 1,
  min_p: 0,
  top_p: 1,
  top_k: 0,
  typical_p: 1,
  xtc_threshold: 0.1,
  xtc_probability: 0,
  epsilon_cutoff: 0,
  eta_cutoff: 0,
  tfs: 1,
  top_a: 0,
  top_n_sigma: 0,
  dry_multiplier: 0,
  dry_allowed_length: 2,
  dry_base: 1.75,
  repetition_penalty: 1,
  encoder_repetition_penalty: 1,
  no_repeat_ngram_size: 0,
  repetition_penalty_range: 1024,
  penalty_alpha: 0,
  guidance_scale: 1,
  mirostat_mode: 0,
  mirostat_tau: 5,
  mirostat_eta: 0.1,
  do_sample: true,
  dynamic_temperature: false,
  temperature_last: false,
  negative_prompt: '',
  dry_sequence_breakers: '["\\n", ":", "\\"", "*"]',
  sampler_priority: [],
  seed: -1,
  ban_eos_token: false,
  add_bos_token: true,
  skip_special_tokens: true,
  grammar_string: '',
  custom_token_bans: '',
  max_tokens: 4,
}

/** llama.vscode's completion while its user types, with the samplers off that few servers have. */
const typing = {
  input_prefix: 'a',
  input_suffix: 'b',
  input_extra: [],
  prompt: '',
  n_predict: 4,
  top_k: 0,
  top_p: 0.99,
  samplers: ['top_k', 'top_p', 'infill'],
  cache_prompt: true,
  t_max_prompt_ms: 500,
  t_max_predict_ms: 500,
  stream: false,
}

const openWebui = { messages: [{ role: 'user', content: 'hi' }], stream: false, params: {}, features: {}, variables: {} }
const liteOptions = { num_ctx: 4096, num_predict: 4, repeat_last_n: 64, repeat_penalty: 1, mirostat: 0, num_keep: 4 }

export const clientBodies: readonly ClientBody[] = [
  ...sillyTavern,
  { client: 'KoboldAI Lite', path: '/api/v1/generate', body: lite },
  { client: 'text-generation-webui', path: '/v1/completions', body: { prompt: 'hi', ...webui } },
  { client: 'a client of tabbyAPI', path: '/v1/completions', body: { prompt: 'hi', ...tabbyDefaults } },
  { client: 'llama.vscode', path: '/infill', body: typing },
  { client: 'Open WebUI', path: '/v1/chat/completions', body: openWebui },
  { client: 'Open WebUI', path: '/api/chat', body: { ...openWebui, options: liteOptions, format: '', keep_alive: '5m' } },
]

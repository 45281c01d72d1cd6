import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readWireSchema } from '../../../test/support/wire-schema.ts'
import { AppError } from '../../core/errors.ts'
import type { GenerationEvent } from '../../core/event.ts'
import { spellings } from '../field-table.ts'
import { openaiChat } from './dialect.ts'
import { chatFields } from './fields.ts'
import { chatRequestSchema } from './schema.ts'

/** For every row a valid value that is not its default: what it changes, or does not, is what the row says. */
const samples: Readonly<Record<string, unknown>> = {
  messages: [{ role: 'user', content: 'another question' }],
  model: 'another',
  audio: { voice: 'alloy', format: 'wav' },
  frequency_penalty: 0,
  function_call: { name: 'f' },
  functions: [{ name: 'f' }],
  logit_bias: { 50256: -100 },
  logprobs: true,
  max_completion_tokens: 7,
  metadata: { trace: 'a' },
  modalities: ['text', 'audio'],
  moderation: { model: 'omni' },
  n: 2,
  parallel_tool_calls: 'sometimes',
  prediction: { type: 'content', content: 'a' },
  presence_penalty: 0,
  prompt_cache_key: 'a',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: { type: 'json_object' },
  safety_identifier: 'a',
  seed: 0,
  service_tier: 'flex',
  stop: 'END',
  store: true,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0,
  tool_choice: 'required',
  tools: [{ type: 'function', function: { name: 'f' } }],
  top_logprobs: 2,
  top_p: 1,
  user: 'a',
  verbosity: 'high',
  web_search_options: {},
  do_sample: false,
  dry_multiplier: 0,
  dry_base: 2,
  dry_allowed_length: 0,
  dry_range: 64,
  dry_sequence_breakers: [],
  ignore_eos: true,
  min_p: 0,
  repetition_penalty: 1,
  top_k: -1,
  xtc_probability: 0,
  xtc_threshold: 0,
  adaptive_target: 0.5,
  adaptive_decay: 0.5,
  add_bos_token: true,
  add_generation_prompt: false,
  allowed_tokens: [1],
  banned_strings: ['a'],
  banned_tokens: [1],
  best_of: 2,
  chat_template: '{{ messages }}',
  continue_final_message: true,
  debug_config: { ignore_eos: true },
  documents: [{ text: 'a' }],
  echo: true,
  enable_thinking: false,
  grammar_string: 'root ::= "a"',
  guided_choice: ['a'],
  guided_grammar: 'root ::= "a"',
  guided_json: {},
  guided_regex: 'a',
  include_stop_str_in_output: true,
  json_schema: {},
  length_penalty: 2,
  loop_detect_window: 800,
  max_temp: 2,
  min_temp: 0,
  min_tokens: 1,
  mirostat_eta: 0.3,
  mirostat_mode: 2,
  mirostat_tau: 1.5,
  num_ctx: 4096,
  penalty_range: 64,
  prompt_logprobs: 1,
  prompt_template: 'a',
  reasoning: { effort: 'low' },
  reasoning_budget_tokens: 0,
  reasoning_budget_message: 'enough',
  regex_pattern: 'a',
  repetition_decay: 1,
  response_prefix: 'Sure',
  samplers: ['top_k'],
  skew: 1,
  skip_special_tokens: false,
  smoothing_factor: 1,
  stop_token_ids: [2],
  structured_outputs: { json: {} },
  suffix: 'a',
  temp_exponent: 2,
  temperature_last: true,
  template_vars: { a: 1 },
  tfs: 0.5,
  thinking: { type: 'enabled' },
  token_healing: true,
  top_a: 0.5,
  top_n_sigma: 1,
  truncate_prompt_tokens: 10,
  typical: 0.5,
  use_beam_search: true,
}

const events: readonly GenerationEvent[] = [
  { type: 'text-delta', choice: 0, delta: 'a' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'usage', usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }, timings: {} },
]

/** All that a body decides: the request, and the words of the reply. */
function observe(body: object): unknown {
  const call = openaiChat.decode(body, 'chatcmpl-1')
  const encoder = call.createStreamEncoder('m')
  return {
    request: call.request,
    stream: call.stream,
    ignored: call.ignored,
    frames: events.map((event) => encoder.encode(event)),
  }
}

function baseFor(name: string): object {
  const base = { model: 'm', messages: [{ role: 'user', content: 'question' }] }
  return name === 'stream_options' ? { ...base, stream: true } : base
}

const rows = chatFields.flatMap((field) => spellings(field).map((spelling) => ({ spelling, field })))
const rowsTreated = (treatment: string) => rows.filter(({ field }) => field.treatment === treatment)

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the field table', () => {
  test('has every property of the request type of the openai package', () => {
    const { definitions } = readWireSchema('OpenAIChatCompletionCreateParams')
    const known = new Set(rows.map(({ spelling }) => spelling))
    for (const type of ['ChatCompletionCreateParamsStreaming', 'ChatCompletionCreateParamsNonStreaming']) {
      const properties = Object.keys(definitions?.[type]?.properties ?? {})
      expect(properties.length).toBeGreaterThan(30)
      expect(properties.filter((name) => !known.has(name))).toEqual([])
    }
  })

  test('has every key of the schema, and the schema every field that is not refused', () => {
    const accepted = rows.filter(({ field }) => field.treatment !== 'refused').map(({ spelling }) => spelling)
    expect(Object.keys(chatRequestSchema.shape).sort()).toEqual(accepted.sort())
  })

  test('names no field twice, and every field has a sample here', () => {
    const names = rows.map(({ spelling }) => spelling)
    expect(new Set(names).size).toBe(names.length)
    expect(Object.keys(samples).sort()).toEqual(chatFields.map(({ name }) => name).sort())
  })

  test.each(rowsTreated('used'))('$spelling is used: it changes what is decoded', ({ spelling, field }) => {
    const base = baseFor(field.name)
    expect(observe({ ...base, [spelling]: samples[field.name] })).not.toEqual(observe(base))
  })

  test.each(rows.filter(({ field, spelling }) => field.treatment === 'used' && spelling !== field.name))(
    '$spelling means the same as $field.name',
    ({ spelling, field }) => {
      const base = baseFor(field.name)
      const value = samples[field.name]
      expect(observe({ ...base, [spelling]: value })).toEqual(observe({ ...base, [field.name]: value }))
      expect(observe({ ...base, [spelling]: value, [field.name]: value })).toEqual(observe({ ...base, [field.name]: value }))
    },
  )

  test.each(rowsTreated('informational'))('$spelling is informational: it changes nothing', ({ spelling, field }) => {
    const base = baseFor(field.name)
    expect(observe({ ...base, [spelling]: samples[field.name] })).toEqual(observe(base))
  })

  test.each(rowsTreated('refused'))('$spelling is refused by name, and its default is not', ({ spelling, field }) => {
    const base = baseFor(field.name)
    const refusal = expect.objectContaining({
      code: 'unsupported-field',
      param: spelling,
      message: expect.stringContaining(spelling),
    })
    expect(() => observe({ ...base, [spelling]: samples[field.name] })).toThrow(refusal)
    const accepts = field.treatment === 'refused' ? (field.accepts ?? []) : []
    for (const value of [null, ...accepts]) expect(observe({ ...base, [spelling]: value })).toEqual(observe(base))
  })

  test.each(rowsTreated('used').filter(({ field }) => field.name !== 'messages' && field.name !== 'model'))(
    'a null $spelling is the same as none',
    ({ spelling, field }) => {
      const base = baseFor(field.name)
      expect(observe({ ...base, [spelling]: null })).toEqual(observe(base))
    },
  )

  test.each(rows.filter(({ field }) => field.treatment !== 'refused'))(
    '$spelling of a wrong type is refused by name',
    ({ spelling, field }) => {
      const wrong = { never: ['a', 'value'] }
      const value = spelling === 'prompt_cache_options' ? 5 : wrong
      let failure: unknown
      try {
        observe({ ...baseFor(field.name), [spelling]: spelling === 'stream_options' ? { include_usage: wrong } : value })
      } catch (error) {
        failure = error
      }
      expect(failure).toBeInstanceOf(AppError)
      expect(failure).toMatchObject({ code: 'invalid-request', param: expect.stringMatching(new RegExp(`^${spelling}`)) })
    },
  )
})

import { describe } from 'vitest'
import { testFieldTable } from '../../../test/support/field-table-suite.ts'
import { openaiCompanions, openaiSamples } from '../../../test/support/upstream/openai-samples.ts'
import { llamaCompletion, llamaInfill } from './dialect.ts'
import { completionFields, infillFields } from './fields.ts'
import { completionSchema, infillSchema } from './schema.ts'

const shared = {
  ...openaiSamples,
  timings_per_token: true,
  return_progress: true,
  add_bos_token: false,
  cache_prompt: false,
  id_slot: 1,
  logit_bias: [[5, false]],
  model: 'another',
  n: 2,
  n_cache_reuse: 4,
  n_discard: 1,
  n_keep: 3,
  n_predict: 7,
  n_probs: 4,
  post_sampling_probs: true,
  response_fields: ['content'],
  sse_ping_interval: 5,
  t_max_prompt_ms: 500,
}
const { echo: _, suffix: __, ...samples } = shared as Record<string, unknown>
/** The properties that llama-server's README lists and that a request's text depends on. */
const properties = ['prompt', 'n_predict', 'stop', 'stream', 'seed', 'temperature', 'n_probs', 'samplers', 'grammar']

describe('POST /completion', () => {
  testFieldTable({
    dialect: llamaCompletion,
    fields: completionFields,
    base: { model: 'm', prompt: 'Once' },
    properties,
    schemaKeys: Object.keys(completionSchema.shape),
    samples: { ...samples, prompt: 'another' },
    companions: { ...openaiCompanions, return_progress: { stream: true } },
    required: ['model', 'prompt'],
  })
})

describe('POST /infill', () => {
  testFieldTable({
    dialect: llamaInfill,
    fields: infillFields,
    base: { model: 'm', input_prefix: 'a', input_suffix: 'b' },
    properties: ['input_prefix', 'input_suffix', 'input_extra', 'prompt', 'n_predict'],
    schemaKeys: Object.keys(infillSchema.shape),
    samples: { ...samples, prompt: 'another', input_prefix: 'c', input_suffix: 'd', input_extra: [{ text: 'e' }] },
    companions: { ...openaiCompanions, return_progress: { stream: true } },
    required: ['model', 'input_prefix', 'input_suffix'],
  })
})

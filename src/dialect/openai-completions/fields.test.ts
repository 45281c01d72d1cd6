import { testFieldTable } from '../../../test/support/field-table-suite.ts'
import { openaiCompanions, openaiSamples } from '../../../test/support/upstream/openai-samples.ts'
import { createOpenaiCompletions } from './dialect.ts'
import { completionFields } from './fields.ts'
import { completionRequestSchema } from './schema.ts'

const openaiCompletions = createOpenaiCompletions({ systemFingerprint: 'dragoman-1' })

const samples: Readonly<Record<string, unknown>> = {
  ...openaiSamples,
  timings_per_token: true,
  return_progress: true,
  prompt: 'another',
  logprobs: 0,
  max_tokens: 7,
  add_bos_token: false,
  response_prefix: 'a',
  model: 'another',
  n: 2,
  stream_options: { include_usage: true },
}

/** Of `CreateCompletionRequest` in OpenAI's API description. */
const properties = [
  'model',
  'prompt',
  'best_of',
  'echo',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'max_tokens',
  'n',
  'presence_penalty',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'suffix',
  'temperature',
  'top_p',
  'user',
]

testFieldTable({
  dialect: openaiCompletions,
  fields: completionFields,
  base: { model: 'm', prompt: 'Once' },
  properties,
  schemaKeys: Object.keys(completionRequestSchema.shape),
  samples,
  companions: { ...openaiCompanions, stream_options: { stream: true }, return_progress: { stream: true } },
  required: ['model', 'prompt'],
})

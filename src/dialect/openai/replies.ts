import type { z } from 'zod'
import { anyObject, flag, is, list, named, number, object, oneOf, text, texts } from '../wire/json/shapes.ts'

const tokens = { cached_tokens: number }
export const usage = named(
  'Usage',
  object({
    prompt_tokens: number,
    completion_tokens: number,
    total_tokens: number,
    prompt_tokens_details: object(tokens),
    completion_tokens_details: object({ reasoning_tokens: number }),
    // With `server.usageTimes`.
    prompt_time: number.optional(),
    prompt_tokens_per_sec: number.optional(),
    completion_time: number.optional(),
    completion_tokens_per_sec: number.optional(),
    total_time: number.optional(),
    extra: anyObject.optional(),
  }),
)
export type Usage = z.input<typeof usage>
/** The times of a generation, as llama-server says them. */
export const timings = named(
  'Timings',
  object({
    cache_n: number,
    prompt_n: number,
    prompt_ms: number,
    prompt_per_token_ms: number,
    prompt_per_second: number,
    predicted_n: number,
    predicted_ms: number,
    predicted_per_token_ms: number,
    predicted_per_second: number,
  }),
)
/** How far a prompt is read. */
export const promptProgress = named(
  'PromptProgress',
  object({ total: number, cache: number, processed: number, time_ms: number }),
)
/** The fields of every reply and chunk of one request. */
export const head = { id: text, created: number, model: text, system_fingerprint: text }
/** How a list ends that has pages. */
export const page = { first_id: text, last_id: text, has_more: flag }
const modelShape = {
  id: text,
  object: is('model'),
  created: number,
  owned_by: text,
  context_length: number.optional(),
  max_context_length: number.optional(),
  native_context_length: number.optional(),
  quant: text.optional(),
  kind: oneOf(['chat', 'embeddings', 'rerank', 'other']).optional(),
  architecture: object({ input_modalities: texts, output_modalities: texts }).optional(),
  media_problem: text.optional(),
  runs_on: text.optional(),
  services: texts.optional(),
  state: text,
  loaded: flag,
  aliases: texts,
  tags: texts,
  status: object({
    value: oneOf(['unloaded', 'loading', 'loaded', 'downloading']),
    args: texts,
    failed: flag.optional(),
    exit_code: number.optional(),
  }),
  meta: anyObject.optional(),
  source: oneOf(['preset', 'cache']).optional(),
  can_remove: flag.optional(),
}
export const model = named('Model', object(modelShape))
export type Model = z.input<typeof model>
export const modelList = named('ModelList', object({ object: is('list'), data: list(model) }))
export type ModelList = z.input<typeof modelList>
export const modelDetail = named(
  'ModelDetail',
  object({ ...modelShape, servers: list(anyObject).optional(), versions: list(anyObject).optional() }),
)
export type ModelDetail = z.input<typeof modelDetail>
export const modelCard = named(
  'ModelCard',
  object({
    ...modelShape,
    parameters: object({
      max_seq_len: number.optional(),
      max_batch_size: number,
      cache_size: number.optional(),
      cache_mode: text.optional(),
      chunk_size: number.optional(),
      prompt_template: text.optional(),
      prompt_template_content: text.optional(),
      use_vision: flag.optional(),
      draft: object({ ...modelShape, parameters: anyObject }).optional(),
    }),
  }),
)
export type ModelCard = z.input<typeof modelCard>

const filePage = { first_id: text.nullable(), last_id: text.nullable(), has_more: flag }
export const file = named(
  'File',
  object({
    id: text,
    object: is('file'),
    bytes: number,
    created_at: number,
    expires_at: number.optional(),
    filename: text,
    purpose: text,
    status: is('processed'),
  }),
)
export type File = z.input<typeof file>
export const fileList = named('FileList', object({ object: is('list'), data: list(file), ...filePage }))
export type FileList = z.input<typeof fileList>
const batchCounts = object({ total: number, completed: number, failed: number })
const batchUsage = object({
  input_tokens: number,
  input_tokens_details: object({ cached_tokens: number }),
  output_tokens: number,
  output_tokens_details: object({ reasoning_tokens: number }),
  total_tokens: number,
})
const batchError = object({ code: text, message: text, line: number.nullable(), param: text.nullable() })
const batchStates = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const
export const batch = named(
  'Batch',
  object({
    id: text,
    object: is('batch'),
    endpoint: text,
    errors: object({ object: is('list'), data: list(batchError) }).nullable(),
    input_file_id: text,
    completion_window: text,
    status: oneOf(batchStates),
    output_file_id: text.nullable(),
    error_file_id: text.nullable(),
    created_at: number,
    in_progress_at: number.nullable(),
    expires_at: number,
    finalizing_at: number.nullable(),
    completed_at: number.nullable(),
    failed_at: number.nullable(),
    expired_at: number.nullable(),
    cancelling_at: number.nullable(),
    cancelled_at: number.nullable(),
    request_counts: batchCounts,
    usage: batchUsage,
    metadata: anyObject.nullable(),
    // An extension: why its requests wait, and until when.
    waiting: object({ reason: text, until: number }).optional(),
  }),
)
export type WireBatch = z.input<typeof batch>
export const batchList = named('BatchList', object({ object: is('list'), data: list(batch), ...filePage }))
export type WireBatchList = z.input<typeof batchList>
export const deletedFile = object({ id: text, object: is('file'), deleted: is(true) })
export type DeletedFile = z.input<typeof deletedFile>

/** llama-server's properties of a model. */
export const props = object({
  // A server of several models, asked without the name of one.
  role: is('router').optional(),
  max_instances: number.optional(),
  models_autoload: flag.optional(),
  default_generation_settings: object({ n_ctx: number.nullable(), params: anyObject }),
  total_slots: number,
  model_alias: text,
  model_path: text,
  is_sleeping: flag,
  endpoint_slots: flag,
  endpoint_props: flag,
  endpoint_metrics: flag,
  ui_settings: anyObject,
  cors_proxy_enabled: flag,
  chat_template: text,
  modalities: object({ vision: flag, audio: flag, video: flag }).optional(),
  build_info: text,
})
export type Props = z.input<typeof props>

export const error = named(
  'OpenaiError',
  object({
    error: object({
      message: text,
      type: text,
      param: text.nullable(),
      code: text.nullable(),
      // llama-server's, for a prompt that does not fit.
      n_prompt_tokens: number.optional(),
      n_ctx: number.optional(),
    }),
  }),
)
export type OpenaiError = z.input<typeof error>

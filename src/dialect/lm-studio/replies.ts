import type { z } from 'zod'
import { anyObject, anything, either, flag, is, list, named, number, object, oneOf, text, texts } from '../wire/json/shapes.ts'

export const listedModel = named(
  'LmStudioListedModel',
  object({
    id: text,
    object: is('model'),
    type: oneOf(['llm', 'vlm', 'embeddings']),
    publisher: text,
    arch: text,
    compatibility_type: text.optional(),
    quantization: text,
    state: oneOf(['loaded', 'not-loaded']),
    max_context_length: number.optional(),
    loaded_context_length: number.optional(),
    capabilities: texts,
  }),
)
export type ListedModel = z.input<typeof listedModel>
export const listedModels = object({ object: is('list'), data: list(listedModel) })

const modelType = oneOf(['llm', 'embedding'])
export const model = named(
  'LmStudioModel',
  object({
    type: modelType,
    publisher: text,
    key: text,
    display_name: text,
    architecture: text.nullable().optional(),
    quantization: object({ name: text, bits_per_weight: number }).nullable(),
    size_bytes: number,
    params_string: text.nullable(),
    loaded_instances: list(object({ id: text, config: object({ context_length: number }) })),
    max_context_length: number,
    format: text.nullable(),
    capabilities: object({
      vision: flag,
      trained_for_tool_use: flag,
      reasoning: object({ allowed_options: texts, default: text }).optional(),
    }).optional(),
  }),
)
export type Model = z.input<typeof model>
export const models = object({ models: list(model) })

export const loaded = object({
  type: modelType,
  instance_id: text,
  load_time_seconds: number,
  status: is('loaded'),
  load_config: object({
    context_length: number,
    eval_batch_size: number.optional(),
    flash_attention: flag.optional(),
  }).optional(),
})
export type Loaded = z.input<typeof loaded>
export const unloaded = object({ instance_id: text })

export const download = named(
  'LmStudioDownload',
  object({
    job_id: text.optional(),
    status: oneOf(['downloading', 'completed', 'failed', 'already_downloaded']),
    total_size_bytes: number.optional(),
    downloaded_bytes: number.optional(),
    bytes_per_second: number.optional(),
    started_at: text.optional(),
    completed_at: text.optional(),
    estimated_completion: text.optional(),
    error: object({ type: text, message: text }).optional(),
  }),
)
export type Download = z.input<typeof download>

const provider = either([
  object({ type: is('ephemeral_mcp'), server_label: text }),
  object({ type: is('plugin'), plugin_id: text }),
])
export type Provider = z.input<typeof provider>
const call = { tool: text, arguments: anyObject, provider_info: provider }
const outputItem = either([
  object({ type: oneOf(['reasoning', 'message']), content: text }),
  object({ type: is('tool_call'), ...call, output: text }),
  object({
    type: is('invalid_tool_call'),
    reason: text,
    metadata: object({ type: text, tool_name: text, arguments: anyObject, provider_info: provider }),
  }),
])
export type OutputItem = z.input<typeof outputItem>
export const answer = named(
  'LmStudioAnswer',
  object({
    model_instance_id: text,
    output: list(outputItem),
    stats: object({
      input_tokens: number,
      total_output_tokens: number,
      reasoning_output_tokens: number,
      tokens_per_second: number,
      time_to_first_token_seconds: number,
      model_load_time_seconds: number.optional(),
      stop_reason: text.optional(),
    }),
    response_id: text.optional(),
  }),
)
export type Answer = z.input<typeof answer>
export const event = named('LmStudioEvent', object({ type: text }).catchall(anything))

export const error = named(
  'LmStudioError',
  object({ error: object({ type: text, message: text, code: text.optional(), param: text.optional() }) }),
)
export type LmStudioError = z.input<typeof error>

import type { z } from 'zod'
import { anyObject, flag, is, list, named, number, numbers, object, text, texts } from '../wire/json/shapes.ts'

const logprob = { token: text, logprob: number, bytes: numbers }
const head = {
  model: text,
  created_at: text,
  logprobs: list(object({ ...logprob, top_logprobs: list(object(logprob)).optional() })).optional(),
}
const ending = {
  done: flag,
  done_reason: text.optional(),
  total_duration: number.optional(),
  load_duration: number.optional(),
  prompt_eval_count: number.optional(),
  prompt_eval_duration: number.optional(),
  eval_count: number.optional(),
  eval_duration: number.optional(),
}
const call = object({ id: text, function: object({ index: number, name: text, arguments: anyObject }) })
export type WireCall = z.input<typeof call>
export const chat = named(
  'OllamaChat',
  object({
    ...head,
    ...ending,
    message: object({ role: is('assistant'), content: text, thinking: text.optional(), tool_calls: list(call).optional() }),
  }),
)
export const generated = named('OllamaGenerated', object({ ...head, ...ending, response: text, thinking: text.optional() }))
type Chat = z.input<typeof chat>
type Generated = z.input<typeof generated>
export type OllamaReply = Chat | Generated
/** The fields of a reply that its pieces have. */
export type WirePiece = Omit<Chat, keyof typeof ending> | Omit<Generated, keyof typeof ending>
export const embed = object({
  model: text,
  embeddings: list(numbers),
  total_duration: number,
  load_duration: number,
  prompt_eval_count: number,
})
export type OllamaEmbed = z.input<typeof embed>
export const embedding = object({ embedding: numbers })
export type OllamaEmbedding = z.input<typeof embedding>

const details = object({
  parent_model: text,
  format: text,
  family: text,
  families: texts.nullable(),
  parameter_size: text,
  quantization_level: text,
  context_length: number.optional(),
  embedding_length: number.optional(),
})
export type ModelDetails = z.input<typeof details>
const listed = { name: text, model: text, size: number, digest: text, details }
export const tags = object({ models: list(object({ ...listed, modified_at: text, capabilities: texts })) })
export type OllamaTags = z.input<typeof tags>
export const loaded = object({
  models: list(object({ ...listed, expires_at: text, size_vram: number, context_length: number })),
})
export type OllamaLoaded = z.input<typeof loaded>
export const shown = object({
  license: text,
  modelfile: text,
  parameters: text,
  template: text,
  details,
  model_info: anyObject,
  capabilities: texts,
  modified_at: text,
})
export type OllamaShown = z.input<typeof shown>
export const progress = object({
  status: text.optional(),
  digest: text.optional(),
  total: number.optional(),
  completed: number.optional(),
  error: text.optional(),
})
export type PullProgress = z.input<typeof progress>
export const error = named('OllamaError', object({ error: text }))
export type OllamaError = z.input<typeof error>

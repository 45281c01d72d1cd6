import type { z } from 'zod'
import { error as openaiError } from '../openai/replies.ts'
import { anyObject, flag, list, named, number, object, oneOf, text, texts } from '../wire/json/shapes.ts'

const abilities = object({
  is_vision: flag,
  is_gguf: flag,
  is_audio: flag,
  audio_type: text.nullable(),
  has_audio_input: flag,
  inference: anyObject,
  requires_trust_remote_code: flag,
  context_length: number.nullable(),
  max_context_length: number.nullable(),
  native_context_length: number.nullable(),
  supports_reasoning: flag,
  reasoning_style: text.nullable(),
  reasoning_always_on: flag,
  supports_preserve_thinking: flag,
  supports_tools: flag,
  speculative_type: text.nullable(),
})
export type Abilities = z.input<typeof abilities>
const identity = { display_name: text, is_lora: flag }
export const loaded = object({
  status: oneOf(['loaded', 'already_loaded']),
  model: text,
  ...identity,
  ...abilities.shape,
  chat_template: text.nullable(),
  cache_type_kv: text.nullable(),
  settings: anyObject,
})
export type Loaded = z.input<typeof loaded>
export const found = object({
  valid: flag,
  message: text,
  identifier: text,
  ...identity,
  is_gguf: flag,
  is_vision: flag,
  requires_trust_remote_code: flag,
  gguf_variant: text.nullable(),
})
export type Found = z.input<typeof found>
export const status = object({
  active_model: text.nullable(),
  gguf_variant: text.nullable(),
  loading: texts,
  loaded: texts,
  models: list(anyObject),
  ...abilities.partial().shape,
  is_gguf: flag,
})
export type Status = z.input<typeof status>
export const progress = object({
  phase: text.nullable(),
  bytes_loaded: number,
  bytes_total: number,
  fraction: number,
  model: text.optional(),
})
export type Progress = z.input<typeof progress>
export const active = object({ count: number, thread_ids: texts, active: list(anyObject), parallel_slots: number })
export type Active = z.input<typeof active>
export const piece = object({ content: text.optional(), error: text.optional() })
export type Piece = z.input<typeof piece>
export const speech = object({
  id: text,
  object: text,
  created: number,
  model: text,
  audio: object({ data: text, format: text, sample_rate: number }),
  choices: list(anyObject),
})
export type Speech = z.input<typeof speech>
export const error = named('UnslothError', object({ detail: text, error: openaiError.shape.error }))
export type UnslothError = z.input<typeof error>

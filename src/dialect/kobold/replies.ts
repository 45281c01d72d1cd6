import type { z } from 'zod'
import { completionLogprobs } from '../openai-completions/replies.ts'
import { flag, list, named, number, numbers, object, oneOf, text } from '../wire/json/shapes.ts'

const end = oneOf(['stop', 'length', 'content_filter'])
export const generated = object({
  results: list(object({ text, finish_reason: end, prompt_tokens: number, completion_tokens: number })),
})
export type KoboldGenerated = z.input<typeof generated>
export const piece = object({ token: text, finish_reason: end.nullable() })
export type KoboldPiece = z.input<typeof piece>
export const error = named('KoboldError', object({ detail: object({ msg: text, type: text }) }))
export type KoboldError = z.input<typeof error>

/** KoboldCpp's report of its last generation: times in seconds; `stop_reason` 1: the model or a stop sequence ended it, 0: the limit, -1: there was none. */
export const perf = object({
  last_process: number,
  last_eval: number,
  last_token_count: number,
  last_seed: number,
  last_draft_success: number,
  last_draft_failed: number,
  total_gens: number,
  stop_reason: number,
  total_img_gens: number,
  total_tts_gens: number,
  total_transcribe_gens: number,
  queue: number,
  idle: number,
  hordeexitcounter: number,
  uptime: number,
  idletime: number,
  quiet: flag,
})
export type KoboldPerf = z.input<typeof perf>
const logprob = { token: text, logprob: number, bytes: numbers }
/** Those of one generation; null: none are kept. */
export const lastLogprobs = object({
  logprobs: completionLogprobs.extend({ content: list(object({ ...logprob, top_logprobs: list(object(logprob)) })) }).nullable(),
})
export type KoboldLogprobs = z.input<typeof lastLogprobs>

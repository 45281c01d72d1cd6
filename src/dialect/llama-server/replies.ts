import type { z } from 'zod'
import { promptProgress, timings } from '../openai/replies.ts'
import { anyObject, anything, either, flag, list, named, number, numbers, object, text } from '../wire/json/shapes.ts'

const logprob = { id: number, token: text, bytes: numbers, logprob: number }
const token = object({ ...logprob, top_logprobs: list(object(logprob)) })
export type LlamaToken = z.input<typeof token>
const whole = object({
  index: number,
  content: text,
  tokens: numbers,
  id_slot: number,
  stop: flag,
  model: text,
  tokens_predicted: number,
  tokens_evaluated: number,
  generation_settings: anyObject,
  prompt: either([text, list(anyObject), numbers]),
  has_new_line: flag,
  truncated: flag,
  stop_type: text,
  stopping_word: text,
  tokens_cached: number,
  timings,
})
/** With `response_fields`, only those, or a part of one under its path: `timings/prompt_n`. */
export const completion = named(
  'LlamaCompletion',
  whole
    .extend({ prompt_progress: promptProgress, completion_probabilities: list(token) })
    .partial()
    .catchall(anything),
)
export type LlamaCompletion = z.input<typeof completion>
export const completions = either([completion, list(completion)])
export type LlamaCompletions = z.input<typeof completions>
export type WholeCompletion = z.input<typeof whole> & Pick<LlamaCompletion, 'completion_probabilities'>
export type LlamaPiece = Pick<WholeCompletion, 'index' | 'content' | 'tokens' | 'id_slot' | 'stop' | 'completion_probabilities'>

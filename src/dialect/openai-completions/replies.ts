import type { z } from 'zod'
import { head, promptProgress, timings, usage } from '../openai/replies.ts'
import { anyObject, is, list, named, number, numbers, object, oneOf, text, texts } from '../wire/json/shapes.ts'

/** One list for each property of the tokens. */
export const completionLogprobs = object({
  tokens: texts,
  // Null for the first token of a prompt, which has no context.
  token_logprobs: list(number.nullable()),
  top_logprobs: list(anyObject.nullable()),
  // The start of each token in the text of its choice, in code points, as Python counts characters.
  text_offset: numbers,
})
export type CompletionLogprobs = z.input<typeof completionLogprobs>
const completionChoice = { index: number, text, logprobs: completionLogprobs.nullable() }
const completionEnd = oneOf(['stop', 'length', 'content_filter'])
export type CompletionEnd = z.input<typeof completionEnd>
export const completion = named(
  'Completion',
  object({
    ...head,
    object: is('text_completion'),
    choices: list(object({ ...completionChoice, finish_reason: completionEnd })),
    usage,
    timings,
  }),
)
export type Completion = z.input<typeof completion>
export const completionChunk = named(
  'CompletionChunk',
  object({
    ...head,
    object: is('text_completion'),
    choices: list(object({ ...completionChoice, finish_reason: completionEnd.nullable() })),
    usage: usage.nullable().optional(),
    timings: timings.optional(),
    prompt_progress: promptProgress.optional(),
  }),
)

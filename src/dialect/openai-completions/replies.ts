import { head, promptProgress, timings, usage } from '../openai/replies.ts'
import { anyObject, is, list, named, number, numbers, object, oneOf, text, texts } from '../wire/json/shapes.ts'

const completionLogprobs = object({
  tokens: texts,
  token_logprobs: list(number.nullable()),
  top_logprobs: list(anyObject.nullable()),
  text_offset: numbers,
})
const completionChoice = { index: number, text, logprobs: completionLogprobs.nullable() }
const completionEnd = oneOf(['stop', 'length', 'content_filter'])
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

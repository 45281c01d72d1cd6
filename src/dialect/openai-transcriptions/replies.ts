import type { z } from 'zod'
import { is, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

const usage = object({
  type: is('tokens'),
  input_tokens: number,
  input_token_details: object({ cached_tokens: number }),
  output_tokens: number,
  total_tokens: number,
})
export type SpeechUsage = z.input<typeof usage>
/** The times of segments and words are left out: a model that hears does not measure them. */
export const transcript = named(
  'Transcript',
  object({
    task: oneOf(['transcribe', 'translate']).optional(),
    language: text.optional(),
    duration: number.optional(),
    text,
    usage,
  }),
)
export type Transcript = z.input<typeof transcript>

import { z } from 'zod'
import { count, optionalFlag, share } from './value-types.ts'

const ngram = z.strictObject({
  type: z.literal('ngram').describe('`ngram`: what followed the newest three tokens the last time, in the prompt or the output.'),
  maxTokens: count.default(8).describe('The most tokens of one draft.'),
})

/** Layers of the model itself draft. */
export const mtp = z.strictObject({
  type: z
    .literal('mtp')
    .describe(
      '`mtp`: what layers of the model itself predict, where it was trained with some (`nextn_predict_layers` in its file).',
    ),
  maxTokens: count.max(16).default(3).describe('The most tokens of one draft.'),
  minProbability: share.default(0).describe('A draft ends before a token that is less probable than this.'),
})

export const always = optionalFlag.describe('Drafts even where measurements show that it is slower, such as for a benchmark.')

/** What drafts on the embedded engine, besides a draft model. */
export const speculation = z
  .discriminatedUnion('type', [ngram.extend({ always }), mtp.extend({ always })])
  .describe(
    'Speculative decoding: tokens are drafted, and the model checks several in one step. The text is the same. Faster where outputs ' +
      'repeat their prompt, such as edits of code (`ngram`), and on GPUs (`mtp`); slower elsewhere on CPUs with few cores.',
  )

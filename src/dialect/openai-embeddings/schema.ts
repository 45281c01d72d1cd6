import { z } from 'zod'
import { integerFrom, nonEmptyText, text } from '../openai/wire-types.ts'
import { list } from '../wire/first-fault.ts'

const maxInputs = 2048
const tooMany = { error: `at most ${maxInputs} inputs` }
const none = { error: 'at least one input' }
const tokenId = z.int({ error: 'a token id' }).min(0, { error: 'a token id' }).max(0x7fffffff, { error: 'a token id' })
const tokenIds = list(tokenId, { error: 'an array of token ids' }).min(1, { error: 'at least one token' })

/** The body of an embedding request. */
export const embeddingRequestSchema = z.looseObject({
  model: nonEmptyText,
  input: z.union([
    nonEmptyText,
    list(nonEmptyText, { error: 'an array of non-empty strings' }).min(1, none).max(maxInputs, tooMany),
    tokenIds,
    list(tokenIds, { error: 'an array of arrays of token ids' }).min(1, none).max(maxInputs, tooMany),
  ]),
  dimensions: integerFrom(1),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  user: text,
})

/** A request body with valid types and ranges. */
export type EmbeddingWire = z.output<typeof embeddingRequestSchema>

import { z } from 'zod'
import { list, looseObject } from '../wire/first-fault.ts'
import { integerFrom, nonEmptyText, text, tokenIdList } from '../wire/wire-types.ts'

const maxInputs = 2048
const tooMany = { count: maxInputs, error: `at most ${maxInputs} inputs` }
const none = { error: 'at least one input' }
const tokenIds = tokenIdList().min(1, { error: 'at least one token' })

/** The body of an embedding request. */
export const embeddingRequestSchema = looseObject({
  model: nonEmptyText,
  input: z.union([
    nonEmptyText,
    list(nonEmptyText, { error: 'an array of non-empty strings', max: tooMany }).min(1, none),
    tokenIds,
    list(tokenIds, { error: 'an array of arrays of token ids', max: tooMany }).min(1, none),
  ]),
  dimensions: integerFrom(1),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  user: text,
})

/** A request body with valid types and ranges. */
export type EmbeddingWire = z.output<typeof embeddingRequestSchema>

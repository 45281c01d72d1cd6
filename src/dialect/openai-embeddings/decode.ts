import { z } from 'zod'
import type { EmbedRequest } from '../../contract/embed.ts'
import type { EmbedInput } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { integerFrom, nonEmptyText, text } from '../openai/wire-types.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { list } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { embeddingFields } from './fields.ts'

export type EncodingFormat = 'float' | 'base64'

/** An embedding request in canonical form, with how to answer it. */
export type DecodedEmbeddings = {
  readonly request: EmbedRequest
  readonly format: EncodingFormat
  readonly ignored: readonly string[]
  /** What the caller calls a place of `request`. */
  readonly nameOf: NameOf
}

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

const fieldIndex = indexFields(embeddingFields)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot honour whole. */
export function decodeEmbeddings(body: unknown): DecodedEmbeddings {
  const wire = validate(embeddingRequestSchema, body)
  const ignored = checkFields(fieldIndex, wire)
  const { model, input, dimensions, encoding_format: format } = wire
  return {
    request: { model, inputs: decodeInputs(input), ...(typeof dimensions === 'number' && { dimensions }) },
    format: format ?? 'float',
    ignored,
    nameOf: ([root, index]) =>
      root !== 'inputs' ? String(root) : isSingle(input) || index === undefined ? 'input' : `input[${index}]`,
  }
}

function decodeInputs(input: z.output<typeof embeddingRequestSchema>['input']): readonly EmbedInput[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  if (isTokens(input)) return [{ type: 'tokens', tokens: input }]
  return (input as readonly (string | readonly number[])[]).map((item) =>
    typeof item === 'string' ? { type: 'text', text: item } : { type: 'tokens', tokens: item },
  )
}

function isTokens(input: readonly unknown[]): input is readonly number[] {
  return typeof input[0] === 'number'
}

function isSingle(input: string | readonly unknown[]): boolean {
  return typeof input === 'string' || isTokens(input) || input.length === 1
}

import type { EmbedRequest } from '../../contract/embed.ts'
import type { EmbedInput } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { validate } from '../wire/validate.ts'
import { embeddingFields } from './fields.ts'
import { type EmbeddingWire, embeddingRequestSchema } from './schema.ts'

/** The encoding of vectors in the reply. */
export type EncodingFormat = 'float' | 'base64'

/** An embedding request in canonical form, and the encoding of its reply. */
type DecodedEmbeddings = {
  readonly request: EmbedRequest
  readonly format: EncodingFormat
  readonly ignored: readonly string[]
  /** The client's name for a path of `request`. */
  readonly nameOf: NameOf
}

const fieldIndex = indexFields(embeddingFields)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot serve completely. */
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

function decodeInputs(input: EmbeddingWire['input']): readonly EmbedInput[] {
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

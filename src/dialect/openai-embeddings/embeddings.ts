import { z } from 'zod'
import type { EmbedInput, EmbedRequest, EmbedResult } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { integerFrom, nonEmptyText, text, tokenIdList } from '../wire/wire-types.ts'
import { embeddingFields } from './fields.ts'
import type { Embeddings, LlamaEmbeddings } from './replies.ts'

const maxInputs = 2048
const tooMany = { count: maxInputs, error: `at most ${maxInputs} inputs` }
const none = { error: 'at least one input' }
const tokenIds = tokenIdList().min(1, { error: 'at least one token' })

export const embeddingRequestSchema = looseObject({
  model: nonEmptyText,
  input: z.union([
    nonEmptyText,
    list(z.union([nonEmptyText, tokenIds]), { error: 'an array of texts, or of arrays of token ids', max: tooMany }).min(1, none),
    tokenIds,
  ]),
  dimensions: integerFrom(1),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  user: text,
})

type EncodingFormat = 'float' | 'base64'

type DecodedEmbeddings = {
  readonly request: EmbedRequest
  readonly format: EncodingFormat
  readonly ignored: readonly string[]
  /** The client's name for a path of `request`. */
  readonly nameOf: NameOf
}

const readBody = bodyReader(embeddingRequestSchema, embeddingFields)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot serve completely. */
export function decodeEmbeddings(body: unknown): DecodedEmbeddings {
  const { wire, ignored } = readBody(body)
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

/** OpenAI's reply: a list of vectors in the order of the inputs. Usage has only prompt tokens. */
export function encodeEmbeddings({ model, vectors, inputTokens }: EmbedResult, format: EncodingFormat): Embeddings {
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encodeVector(vector, format) })),
    model,
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
  }
}

function encodeVector(vector: Float32Array, format: EncodingFormat): readonly number[] | string {
  switch (format) {
    case 'float':
      return Array.from(vector)
    case 'base64': {
      const bytes = Buffer.alloc(vector.length * 4)
      for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
      return bytes.toString('base64')
    }
  }
}

/** For llama-server's `POST /embedding`, whose clients send `content`. */
export function withInput(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('content' in body) || 'input' in body) return body
  const { content: input, ...rest } = body
  return { ...rest, input }
}

/** llama-server's reply: for each input a list with its one vector. */
export function encodeLlamaEmbeddings({ vectors }: EmbedResult): LlamaEmbeddings {
  return vectors.map((vector, index) => ({ index, embedding: [Array.from(vector)] }))
}

import type { EmbedRequest, EmbedResult } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { decodeText } from './decode-content.ts'
import { embeddingsFields } from './fields.ts'
import type { StackEmbeddings } from './replies.ts'
import { embeddingsSchema } from './schema.ts'

const readBody = bodyReader(embeddingsSchema, embeddingsFields, unknownKeys(embeddingsSchema))

export type DecodedEmbeddings = {
  readonly request: EmbedRequest
  readonly ignored: readonly string[]
  /** The client's name for a path of `request`. */
  readonly nameOf: NameOf
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeEmbeddings(body: unknown): DecodedEmbeddings {
  const { wire, ignored } = readBody(body)
  const { model_id: model, contents, output_dimension: dimensions } = wire
  return {
    request: {
      model,
      inputs: contents.map((content, index) => ({ type: 'text', text: decodeText(content, `contents[${index}]`) })),
      ...(typeof dimensions === 'number' && { dimensions }),
    },
    ignored,
    nameOf: ([root, index]) => {
      if (root === 'model') return 'model_id'
      if (root === 'dimensions') return 'output_dimension'
      return index === undefined ? 'contents' : `contents[${index}]`
    },
  }
}

/** The reply: the vectors, in the order of the contents. */
export function encodeEmbeddings({ vectors }: EmbedResult): StackEmbeddings {
  return { embeddings: vectors.map((vector) => Array.from(vector)) }
}

import type { KeepLoaded } from '../../contract/dialect.ts'
import type { EmbedRequest, EmbedResult } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { bodyReader } from '../wire/validate.ts'
import { embeddingsFields, embedFields } from './fields.ts'
import { keepLoadedBy } from './keep-alive.ts'
import type { OllamaEmbed, OllamaEmbedding } from './replies.ts'
import { requireModel } from './require-model.ts'
import { embeddingsSchema, embedSchema } from './schema.ts'

/** A call for vectors in canonical form. Without inputs, it only loads the model. */
export type DecodedEmbed = {
  readonly request: EmbedRequest
  readonly keepLoaded: KeepLoaded | undefined
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
  encode(result: EmbedResult, durations: { readonly totalMs: number; readonly loadMs: number }): OllamaEmbed | OllamaEmbedding
}

const readEmbed = bodyReader(embedSchema, embedFields)
const readEmbeddings = bodyReader(embeddingsSchema, embeddingsFields)

/** Decodes `POST /api/embed`. Throws `invalid-request` with `param`. */
export function decodeEmbed(body: unknown): DecodedEmbed {
  requireModel(body)
  const { wire, ignored } = readEmbed(body)
  const { model, input, dimensions } = wire
  const texts = typeof input === 'string' ? [input] : (input ?? [])
  // An empty text alone is not an input.
  const inputs = texts.length === 1 && texts[0] === '' ? [] : texts
  return {
    request: {
      model,
      inputs: inputs.map((text) => ({ type: 'text', text })),
      ...(typeof dimensions === 'number' && dimensions > 0 && { dimensions }),
      ...(wire.truncate === true && { cuts: true }),
    },
    keepLoaded: keepLoadedBy(wire.keep_alive),
    ignored,
    nameOf: ([root, index]) => {
      if (root !== 'inputs') return String(root)
      return typeof index !== 'number' || typeof input === 'string' ? 'input' : `input[${index}]`
    },
    encode: ({ vectors, inputTokens }, { totalMs, loadMs }) => ({
      model,
      embeddings: vectors.map((vector) => Array.from(vector)),
      total_duration: Math.max(1, Math.round(totalMs * 1e6)),
      load_duration: Math.round(loadMs * 1e6),
      prompt_eval_count: inputTokens,
    }),
  }
}

/** Decodes `POST /api/embeddings`, the older route with one text. Throws `invalid-request` with `param`. */
export function decodeEmbeddings(body: unknown): DecodedEmbed {
  requireModel(body)
  const { wire, ignored } = readEmbeddings(body)
  const { model, prompt } = wire
  return {
    request: {
      model,
      inputs: prompt ? [{ type: 'text', text: prompt }] : [],
      ...(wire.truncate === true && { cuts: true }),
    },
    keepLoaded: keepLoadedBy(wire.keep_alive),
    ignored,
    nameOf: ([root]) => (root === 'inputs' ? 'prompt' : String(root)),
    encode: ({ vectors: [vector] }) => ({ embedding: vector === undefined ? [] : Array.from(vector) }),
  }
}

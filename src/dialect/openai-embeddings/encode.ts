import type { EmbedResult } from '../../contract/embed.ts'
import type { EncodingFormat } from './decode.ts'

/** OpenAI's reply: a list of vectors in the order of the inputs. Usage has prompt tokens only. */
export function encodeEmbeddings({ model, vectors, inputTokens }: EmbedResult, format: EncodingFormat): unknown {
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

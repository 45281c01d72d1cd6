import type { z } from 'zod'
import { either, is, list, named, number, numbers, object, text } from '../wire/json/shapes.ts'

export const embeddings = named(
  'Embeddings',
  object({
    object: is('list'),
    data: list(object({ object: is('embedding'), index: number, embedding: either([numbers, text]) })),
    model: text,
    usage: object({ prompt_tokens: number, total_tokens: number }),
  }),
)
export type Embeddings = z.input<typeof embeddings>
/** Vectors in llama-server's form: each input has a list of one. */
export const llamaEmbeddings = list(object({ index: number, embedding: list(numbers) }))
export type LlamaEmbeddings = z.input<typeof llamaEmbeddings>

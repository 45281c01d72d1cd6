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

import type { Field } from '../wire/field-table.ts'

/** Every request field of `POST /v1/embeddings` that Dragoman knows, and what it does with it. */
export const embeddingFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'an id or an alias' },
  { name: 'input', treatment: 'used', note: 'a text, token ids, or an array of either, at most 2048; none may be empty' },
  {
    name: 'dimensions',
    treatment: 'used',
    note: "at most the model's: the first numbers of each vector, made as long as 1 again",
  },
  { name: 'encoding_format', treatment: 'used', note: '`float`, or `base64` of little-endian 32-bit floats' },
  { name: 'user', treatment: 'informational', note: "names the caller's end user" },
  { name: 'truncate_prompt_tokens', treatment: 'refused', note: 'an input is never cut' },
]

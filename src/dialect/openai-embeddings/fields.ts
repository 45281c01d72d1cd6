import type { Field } from '../wire/field-table.ts'

/** Every request field of `POST /v1/embeddings` that Dragoman knows, and what it does with it. */
export const embeddingFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'an id or an alias; absent: the default model' },
  { name: 'input', treatment: 'used', note: 'a string, token ids, or an array of at most 2048 of either; none may be empty' },
  {
    name: 'dimensions',
    treatment: 'used',
    note: "at most the model's: the first numbers of each vector, normalized to length 1",
  },
  { name: 'encoding_format', treatment: 'used', note: '`float`, or `base64` of little-endian 32-bit floats' },
  { name: 'user', treatment: 'informational', note: "identifies the client's end user" },
  {
    name: 'input_type',
    aliases: ['task', 'prompt_name', 'instruction'],
    treatment: 'refused',
    accepts: [''],
    note: 'put it in front of the input',
  },
  { name: 'normalize', treatment: 'refused', accepts: [true], note: 'vectors have length 1' },
  { name: 'truncate_prompt_tokens', treatment: 'refused', note: 'an input is never truncated' },
]

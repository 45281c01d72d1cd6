import { type Field, informational, refused, used } from '../wire/field-table.ts'

/** Every request field of `POST /v1/embeddings` that Dragoman knows, and how it is treated. */
export const embeddingFields: readonly Field[] = [
  used('model', 'an id or an alias; absent: the default model'),
  used('input', 'a string, token ids, or an array of at most 2048 of either; none may be empty'),
  used('dimensions', "at most the model's: the first numbers of each vector, normalized to length 1"),
  used('encoding_format', '`float`, or `base64` of little-endian 32-bit floats'),
  informational('user', "identifies the client's end user"),
  refused('input_type', 'put it in front of the input', { aliases: ['task', 'prompt_name', 'instruction'], accepts: [''] }),
  refused('normalize', 'vectors have length 1', { accepts: [true] }),
  refused('truncate_prompt_tokens', 'inputs are not truncated here: `truncate: true` of `POST /api/embed` does it'),
]

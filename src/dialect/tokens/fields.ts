import type { Field } from '../wire/field-table.ts'

const model: Field = { name: 'model', treatment: 'used', note: 'an id or an alias; absent: the default model' }
const addBos: Field = {
  name: 'add_bos_token',
  treatment: 'used',
  note: "default true: a first token where the model's tokenizer wants one; false: none",
}
const encodeSpecial: Field = {
  name: 'encode_special_tokens',
  treatment: 'used',
  note: "default true: texts of control tokens become control tokens; of a conversation, the template's alone",
}
const decodeSpecial: Field = {
  name: 'decode_special_tokens',
  treatment: 'used',
  note: 'default true: the text has those of control tokens',
}
const elsewhere = (field: Field, where: string): Field => ({
  name: field.name,
  treatment: 'informational',
  note: `means something to ${where} only`,
})

/** The request fields of `POST /v1/token/encode`, as tabbyAPI has them. */
export const tokenEncodeFields: readonly Field[] = [
  model,
  { name: 'text', treatment: 'used', note: 'a text, or messages, which the chat template renders without a generation prompt' },
  addBos,
  encodeSpecial,
  elsewhere(decodeSpecial, 'decode'),
  { name: 'template_vars', aliases: ['chat_template_kwargs'], treatment: 'used', note: 'variables for the chat template' },
]

/** The request fields of `POST /v1/token/decode`. */
export const tokenDecodeFields: readonly Field[] = [
  model,
  { name: 'tokens', treatment: 'used', note: 'token ids' },
  decodeSpecial,
  elsewhere(addBos, 'encode'),
  elsewhere(encodeSpecial, 'encode'),
]

/** The request fields of `POST /tokenize`, as llama-server has them. */
export const tokenizeFields: readonly Field[] = [
  model,
  { name: 'content', treatment: 'used', note: 'a text' },
  { name: 'add_special', treatment: 'used', note: "default false; true: a first token where the model's tokenizer wants one" },
  { name: 'parse_special', treatment: 'used', note: 'default true: texts of control tokens become control tokens' },
  { name: 'with_pieces', treatment: 'refused', accepts: [false], note: 'ask `POST /detokenize` for the text of a token' },
]

/** The request fields of `POST /detokenize`. */
export const detokenizeFields: readonly Field[] = [model, { name: 'tokens', treatment: 'used', note: 'token ids' }]

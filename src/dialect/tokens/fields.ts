import type { Field } from '../wire/field-table.ts'

const model: Field = {
  name: 'model',
  treatment: 'used',
  note: 'an id or an alias; absent: the model that was loaded last, else the default one',
}
const addBos: Field = {
  name: 'add_bos_token',
  treatment: 'used',
  note: "default true: starts with the BOS token if the model's tokenizer adds one",
}
const encodeSpecial: Field = {
  name: 'encode_special_tokens',
  treatment: 'used',
  note: 'default true: texts of control tokens become control tokens; in a conversation, only those of the template',
}
const decodeSpecial: Field = {
  name: 'decode_special_tokens',
  treatment: 'used',
  note: 'default true: the text contains control tokens',
}
const appliesElsewhere = (field: Field, where: string): Field => ({
  name: field.name,
  treatment: 'informational',
  note: `applies to ${where} only`,
})

/** The request fields of `POST /v1/token/encode`, as tabbyAPI has them. */
export const tokenEncodeFields: readonly Field[] = [
  model,
  { name: 'text', treatment: 'used', note: 'a string, or messages, which the chat template renders without a generation prompt' },
  addBos,
  encodeSpecial,
  appliesElsewhere(decodeSpecial, 'decode'),
  { name: 'template_vars', aliases: ['chat_template_kwargs'], treatment: 'used', note: 'variables for the chat template' },
]

/** The request fields of `POST /v1/token/decode`. */
export const tokenDecodeFields: readonly Field[] = [
  model,
  { name: 'tokens', treatment: 'used', note: 'token ids' },
  decodeSpecial,
  appliesElsewhere(addBos, 'encode'),
  appliesElsewhere(encodeSpecial, 'encode'),
]

/** The request fields of `POST /tokenize`, as llama-server has them. */
export const tokenizeFields: readonly Field[] = [
  model,
  { name: 'content', aliases: ['prompt'], treatment: 'used', note: 'a string; as `prompt`, the reply has the form of vLLM' },
  {
    name: 'add_special',
    aliases: ['add_special_tokens'],
    treatment: 'used',
    note: "default false, with `prompt` true; true: starts with the BOS token if the model's tokenizer adds one",
  },
  { name: 'parse_special', treatment: 'used', note: 'default true: texts of control tokens become control tokens' },
  {
    name: 'with_pieces',
    treatment: 'used',
    note: 'true: each token is `{id, piece}`; a piece that is not text by itself is a list of its bytes',
  },
]

/** The request fields of `POST /detokenize`. */
export const detokenizeFields: readonly Field[] = [model, { name: 'tokens', treatment: 'used', note: 'token ids' }]

import { promptTemplateField } from '../openai/common-fields.ts'
import { type Field, informational, used } from '../wire/field-table.ts'

const model: Field = used('model', 'an id or an alias; absent: the model that was loaded last, else the default one')
const addBos: Field = used('add_bos_token', "default true: starts with the BOS token if the model's tokenizer adds one")
const encodeSpecial: Field = used(
  'encode_special_tokens',
  'default true: texts of control tokens become control tokens; in a conversation, only those of the template',
)
const decodeSpecial: Field = used('decode_special_tokens', 'default true: the text contains control tokens')
const appliesElsewhere = (field: Field, where: string): Field => informational(field.name, `applies to ${where} only`)

/** The request fields of `POST /v1/token/encode`, as tabbyAPI has them. */
export const tokenEncodeFields: readonly Field[] = [
  model,
  used('text', 'a string, or messages, which the chat template renders without a generation prompt'),
  addBos,
  encodeSpecial,
  appliesElsewhere(decodeSpecial, 'decode'),
  promptTemplateField,
  used('template_vars', 'variables for the chat template', { aliases: ['chat_template_kwargs'] }),
]

export const tokenDecodeFields: readonly Field[] = [
  model,
  used('tokens', 'token ids'),
  decodeSpecial,
  appliesElsewhere(addBos, 'encode'),
  appliesElsewhere(encodeSpecial, 'encode'),
]

/** The request fields of `POST /tokenize`, as llama-server has them. */
export const tokenizeFields: readonly Field[] = [
  model,
  used('content', 'a string; as `prompt`, the reply has the form of vLLM', { aliases: ['prompt'] }),
  used('add_special', "default false, with `prompt` true; true: starts with the BOS token if the model's tokenizer adds one", {
    aliases: ['add_special_tokens'],
  }),
  used('parse_special', 'default true: texts of control tokens become control tokens'),
  used('with_pieces', 'true: each token is `{id, piece}`; a piece that is not text by itself is a list of its bytes'),
]

/** The request fields of `POST /detokenize`. */
export const detokenizeFields: readonly Field[] = [model, used('tokens', 'token ids')]

import { z } from 'zod'
import type { DetokenizeRequest, TokenizeRequest, TokenPiece } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { pickSpelled, pickSpelling } from '../openai/spelling.ts'
import { type FieldNames, nameField } from '../wire/field-names.ts'
import { jsonObject, list, looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { flag, nonEmptyText, text, tokenIdList } from '../wire/wire-types.ts'
import { detokenizeFields, tokenDecodeFields, tokenEncodeFields, tokenizeFields } from './fields.ts'

/** A request about tokens of a model (undefined: the default model). `nameOf`: the client's name for a path of it. */
export type TokenCall<T> = {
  readonly request: T
  readonly model: string | undefined
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}

/** Decodes a chat request, to decode the messages of a conversation. */
type ReadChat = (body: unknown) => {
  readonly request: Pick<GenerationRequest, 'prompt' | 'reasoning'>
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}

const maxTokens = 1_000_000
const tokens = tokenIdList({ count: maxTokens, error: `at most ${maxTokens} tokens` })
const model = nonEmptyText.nullish()
const tabbyFlags = { add_bos_token: flag, encode_special_tokens: flag, decode_special_tokens: flag }

export const tokenEncodeSchema = looseObject({
  model,
  text: z.union([z.string(), list(z.unknown(), { error: 'an array of messages' })]),
  prompt_template: text,
  template_vars: jsonObject.nullish(),
  chat_template_kwargs: jsonObject.nullish(),
  ...tabbyFlags,
})
export const tokenDecodeSchema = looseObject({ model, tokens, ...tabbyFlags })
export const tokenizeSchema = looseObject({
  model,
  content: z.string().nullish(),
  prompt: z.string().nullish(),
  add_special: flag,
  add_special_tokens: flag,
  parse_special: flag,
  with_pieces: flag,
})
export const detokenizeSchema = looseObject({ model, tokens })

const readTokenEncode = bodyReader(tokenEncodeSchema, tokenEncodeFields)
const readTokenDecode = bodyReader(tokenDecodeSchema, tokenDecodeFields)
const readTokenize = bodyReader(tokenizeSchema, tokenizeFields)
const readDetokenize = bodyReader(detokenizeSchema, detokenizeFields)

/** tabbyAPI's `POST /v1/token/encode`. */
export function decodeTokenEncode(body: unknown, readChat: ReadChat): TokenCall<TokenizeRequest> {
  const { wire, ignored } = readTokenEncode(body)
  const source =
    typeof wire.text === 'string' ? plainText(wire.text, namesOf(tabbyNames, wire)) : decodeConversation(wire, readChat)
  const flags = { addBos: wire.add_bos_token ?? true, parseSpecial: wire.encode_special_tokens ?? true }
  return {
    request: { ...source.request, ...flags },
    model: wire.model ?? undefined,
    ignored: [...ignored, ...source.ignored],
    nameOf: source.nameOf,
  }
}

/** tabbyAPI's `POST /v1/token/decode`. */
export function decodeTokenDecode(body: unknown): TokenCall<DetokenizeRequest> {
  const { wire, ignored } = readTokenDecode(body)
  const special = wire.decode_special_tokens ?? true
  return { request: { tokens: wire.tokens, special }, model: wire.model ?? undefined, ignored, nameOf: namesOf(tabbyNames, wire) }
}

/** The form of the reply: vLLM's, or tokens with their pieces; otherwise ids. */
type TokenizeForm = { readonly isVllm: boolean; readonly withPieces: boolean }

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A token with its text, or with its bytes if they are part of a character. */
export function encodePiece({ id, bytes }: TokenPiece): { readonly id: number; readonly piece: string | readonly number[] } {
  try {
    return { id, piece: strictText.decode(bytes) }
  } catch {
    return { id, piece: [...bytes] }
  }
}

/**
 * llama-server's `POST /tokenize`, and vLLM's, whose text is the `prompt` and whose reply has another form. `expected`: the field to name
 * if both are missing.
 */
export function decodeTokenize(
  body: unknown,
  expected: 'content' | 'prompt' = 'content',
): TokenCall<TokenizeRequest> & TokenizeForm {
  const { wire, ignored } = readTokenize(body)
  const text = pickSpelled(wire, ['content', 'prompt'])
  if (text === undefined) {
    throw new AppError('invalid-request', `${expected} is missing: expected a string`, { param: expected })
  }
  const isVllm = text.name === 'prompt'
  const addBos = pickSpelling(wire, ['add_special', 'add_special_tokens']) ?? isVllm
  const flags = { addBos, parseSpecial: wire.parse_special ?? true }
  return {
    isVllm: isVllm && wire.with_pieces !== true,
    withPieces: wire.with_pieces === true,
    request: { ...plainText(text.value, namesOf(llamaServerNames, wire)).request, ...flags },
    model: wire.model ?? undefined,
    ignored,
    nameOf: namesOf(llamaServerNames, wire),
  }
}

/** llama-server's `POST /detokenize`, which always includes control tokens. */
export function decodeDetokenize(body: unknown): TokenCall<DetokenizeRequest> {
  const { wire, ignored } = readDetokenize(body)
  return {
    request: { tokens: wire.tokens, special: true },
    model: wire.model ?? undefined,
    ignored,
    nameOf: namesOf(llamaServerNames, wire),
  }
}

type Source = Pick<TokenCall<Pick<TokenizeRequest, 'prompt' | 'reasoning'>>, 'request' | 'ignored' | 'nameOf'>

function plainText(text: string, nameOf: NameOf): Source {
  return { request: { prompt: { type: 'text', text }, reasoning: {} }, ignored: [], nameOf }
}

/** Decodes messages like those of a chat, whose field has another name here. */
function decodeConversation(
  { text, prompt_template, template_vars, chat_template_kwargs }: z.output<typeof tokenEncodeSchema>,
  readChat: ReadChat,
): Source {
  const template = { prompt_template, template_vars, chat_template_kwargs }
  const chat = { model: 'any', messages: text, ...template, add_generation_prompt: false }
  try {
    const { request, ignored, nameOf } = readChat(chat)
    if (request.prompt.type !== 'chat') throw new Error('a chat was decoded to something else')
    return {
      request: { prompt: request.prompt, reasoning: request.reasoning },
      ignored: ignored.map(renamed),
      nameOf: (path) => (path[0] === 'prompt' ? renamed(nameOf(path)) : nameField(tabbyNames, {}, path)),
    }
  } catch (error) {
    if (!(error instanceof AppError) || error.param === undefined) throw error
    throw new AppError(error.code, error.message.replaceAll(error.param, renamed(error.param)), {
      param: renamed(error.param),
      cause: error,
    })
  }
}

const tabbyNames: FieldNames = {
  model: ['model'],
  'prompt.text': ['text'],
  tokens: ['tokens'],
  addBos: ['add_bos_token'],
  parseSpecial: ['encode_special_tokens'],
  special: ['decode_special_tokens'],
}
const llamaServerNames: FieldNames = {
  pieces: ['with_pieces'],
  model: ['model'],
  'prompt.text': ['content', 'prompt'],
  tokens: ['tokens'],
  addBos: ['add_special', 'add_special_tokens'],
  parseSpecial: ['parse_special'],
}

function namesOf(names: FieldNames, wire: object): NameOf {
  return (path) => nameField(names, wire, path)
}

function renamed(path: string): string {
  return path.replace(/^messages(?=\[|$)/, 'text')
}

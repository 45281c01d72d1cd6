import type { z } from 'zod'
import { encodeAnthropicError } from '../../dialect/anthropic/errors.ts'
import { encodeKoboldError } from '../../dialect/kobold/errors.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { encodeEmbedError, encodeOllamaError } from '../../dialect/ollama/errors.ts'
import { encodeUnslothError } from '../../dialect/unsloth/replies.ts'
import { anything, either, is, list, named, object, text } from './shapes.ts'

const openai = object({ message: text, type: text, param: text.nullable(), code: text.nullable() })
const stack = either([text, object({ errors: list(object({ loc: list(anything), msg: text, type: text })) })])

const ollamaError = named('OllamaError', object({ error: text }))

export const openaiError = named('OpenaiError', object({ error: openai }))
export const anthropicError = named(
  'AnthropicError',
  object({ type: is('error'), error: object({ type: text, message: text }), request_id: text.nullable() }),
)
export const stackError = named('StackError', object({ error: object({ detail: stack }) }))

/** The envelope of each encoder; routes without one have OpenAI's. */
export const envelopes = new Map<unknown, z.ZodType>([
  [encodeAnthropicError, anthropicError],
  [encodeKoboldError, named('KoboldError', object({ detail: object({ msg: text, type: text }) }))],
  [encodeStackError, stackError],
  [encodeOllamaError, ollamaError],
  [encodeEmbedError, ollamaError],
  [encodeUnslothError, named('UnslothError', object({ detail: text, error: openai }))],
])

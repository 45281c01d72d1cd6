import type { FastifyContextConfig } from 'fastify'
import type { z } from 'zod'
import { encodeAnthropicError } from '../../dialect/anthropic/errors.ts'
import { encodeKoboldError } from '../../dialect/kobold/errors.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { encodeEmbedError, encodeOllamaError } from '../../dialect/ollama/errors.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { encodeUnslothError } from '../../dialect/unsloth/replies.ts'
import { anything, either, is, list, named, object, text } from '../../dialect/wire/json/shapes.ts'

const openai = object({ message: text, type: text, param: text.nullable(), code: text.nullable() })
const stack = either([text, object({ errors: list(object({ loc: list(anything), msg: text, type: text })) })])

const ollamaError = named('OllamaError', object({ error: text }))

const openaiError = named('OpenaiError', object({ error: openai }))
const anthropicError = named(
  'AnthropicError',
  object({ type: is('error'), error: object({ type: text, message: text }), request_id: text.nullable() }),
)
const stackError = named('StackError', object({ error: object({ detail: stack }) }))

const envelopes = new Map<unknown, z.ZodType>([
  // For routes without an encoder.
  [undefined, openaiError],
  [encodeOpenaiError, openaiError],
  [encodeAnthropicError, anthropicError],
  [encodeKoboldError, named('KoboldError', object({ detail: object({ msg: text, type: text }) }))],
  [encodeStackError, stackError],
  [encodeOllamaError, ollamaError],
  [encodeEmbedError, ollamaError],
  [encodeUnslothError, named('UnslothError', object({ detail: text, error: openai }))],
])

/** For routes whose errors have the form of the client's protocol. */
const anyOfThem = either([openaiError, anthropicError, stackError])

/** The form of a route's errors; undefined for a protocol that was added to the server. */
export function envelopeOf({ encodeError, encodeErrorOf }: FastifyContextConfig): z.ZodType | undefined {
  return encodeErrorOf === undefined ? envelopes.get(encodeError) : anyOfThem
}

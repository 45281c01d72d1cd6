import type { FastifyContextConfig } from 'fastify'
import type { z } from 'zod'
import { encodeAnthropicError } from '../../dialect/anthropic/errors.ts'
import { error as anthropicError } from '../../dialect/anthropic/replies.ts'
import { encodeKoboldError } from '../../dialect/kobold/errors.ts'
import { error as koboldError } from '../../dialect/kobold/replies.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { error as stackError } from '../../dialect/llama-stack/replies.ts'
import { encodeLmStudioError } from '../../dialect/lm-studio/errors.ts'
import { error as lmStudioError } from '../../dialect/lm-studio/replies.ts'
import { encodeEmbedError, encodeOllamaError } from '../../dialect/ollama/errors.ts'
import { error as ollamaError } from '../../dialect/ollama/replies.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { error as openaiError } from '../../dialect/openai/replies.ts'
import { encodeUnslothError } from '../../dialect/unsloth/encode.ts'
import { error as unslothError } from '../../dialect/unsloth/replies.ts'
import { either } from '../../dialect/wire/json/shapes.ts'

const envelopes = new Map<unknown, z.ZodType>([
  // For routes without an encoder.
  [undefined, openaiError],
  [encodeOpenaiError, openaiError],
  [encodeAnthropicError, anthropicError],
  [encodeKoboldError, koboldError],
  [encodeStackError, stackError],
  [encodeOllamaError, ollamaError],
  [encodeEmbedError, ollamaError],
  [encodeLmStudioError, lmStudioError],
  [encodeUnslothError, unslothError],
])

/** For routes whose errors have the form of the client's protocol. */
const anyOfThem = either([openaiError, anthropicError, stackError])

/** The form of a route's errors; undefined for a protocol that was added to the server. */
export function envelopeOf({ encodeError, encodeErrorOf }: FastifyContextConfig): z.ZodType | undefined {
  return encodeErrorOf === undefined ? envelopes.get(encodeError) : anyOfThem
}

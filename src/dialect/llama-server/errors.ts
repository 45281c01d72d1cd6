import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'

/** OpenAI's envelope; for a prompt that does not fit, with llama-server's type and counts, by which its clients cut the prompt. */
export function encodeLlamaServerError(error: AppError): ErrorReply {
  const { status, body } = encodeOpenaiError(error)
  const { inputTokens = 0, contextLength = 1 } = error.overflow ?? {}
  if (inputTokens < contextLength) return { status, body }
  const counts = { type: 'exceed_context_size_error', n_prompt_tokens: inputTokens, n_ctx: contextLength }
  return { status, body: { error: { ...body.error, ...counts } } }
}

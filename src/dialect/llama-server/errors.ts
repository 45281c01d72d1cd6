import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'

/** OpenAI's envelope; of a prompt that does not fit, with the type and the counts of llama-server, from which its clients cut the prompt. */
export function encodeLlamaServerError(error: AppError): ErrorReply {
  const { status, body } = encodeOpenaiError(error)
  const { inputTokens = 0, contextLength = 1 } = error.overflow ?? {}
  if (inputTokens < contextLength) return { status, body }
  const counts = { type: 'exceed_context_size_error', n_prompt_tokens: inputTokens, n_ctx: contextLength }
  return { status, body: { error: { ...body.error, ...counts } } }
}

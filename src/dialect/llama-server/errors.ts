import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'

/** OpenAI's envelope; for a prompt that does not fit, with llama-server's type, by which its clients cut the prompt. */
export function encodeLlamaServerError(error: AppError): ErrorReply {
  const { status, body } = encodeOpenaiError(error)
  if (body.error.n_ctx === undefined) return { status, body }
  return { status, body: { error: { ...body.error, type: 'exceed_context_size_error' } } }
}

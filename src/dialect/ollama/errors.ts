import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ErrorCode } from '../../contract/errors.ts'
import { errorStatuses } from '../wire/error-statuses.ts'
import type { OllamaError } from './replies.ts'

/** Ollama answers 503 when too many requests wait. */
const statuses: Readonly<Record<ErrorCode, number>> = { ...errorStatuses, 'queue-full': 503 }

/** Encodes an error as Ollama does: its clients show the text of `error`. */
export function encodeOllamaError(error: AppError): ErrorReply & { readonly body: OllamaError } {
  return { status: statuses[error.code], body: { error: textOf(error) } }
}

/** Ollama truncates a prompt that is too long; this tells its users that we do not. */
function textOf({ code, message }: AppError): string {
  return code === 'context-length-exceeded' ? `${message}; Dragoman does not drop messages` : message
}

/** As `encodeOllamaError`, for embeddings: in Ollama's words for an input that may not be truncated. */
export function encodeEmbedError(error: AppError): ErrorReply & { readonly body: OllamaError } {
  if (error.code !== 'context-length-exceeded') return encodeOllamaError(error)
  return { status: 400, body: { error: `the input length exceeds the context length: ${error.message}` } }
}

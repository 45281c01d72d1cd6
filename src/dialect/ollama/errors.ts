import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ErrorCode } from '../../contract/errors.ts'

const statuses: Readonly<Record<ErrorCode, number>> = {
  'invalid-request': 400,
  'invalid-json': 400,
  'unsupported-field': 400,
  'context-length-exceeded': 400,
  'template-failed': 400,
  unauthorized: 401,
  forbidden: 403,
  'host-not-allowed': 403,
  'origin-not-allowed': 403,
  'route-not-found': 404,
  'model-not-found': 404,
  'not-found': 404,
  'previous-response-not-found': 404,
  'method-not-allowed': 405,
  'request-conflict': 409,
  'conversation-locked': 409,
  'connection-limit-reached': 400,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  // Ollama's status for a server with too many requests.
  'queue-full': 503,
  'queue-timeout': 503,
  'first-token-timeout': 504,
  'stall-timeout': 504,
  'rate-limit-exceeded': 429,
  cancelled: 499,
  internal: 500,
  'engine-failed': 500,
  'upstream-failed': 502,
  'upstream-timeout': 504,
  'invalid-output': 502,
  overloaded: 503,
  'model-unavailable': 503,
  'store-unavailable': 503,
  'shutting-down': 503,
}

/** Encodes an error as Ollama does: its clients show the text of `error`. */
export function encodeOllamaError(error: AppError): ErrorReply & { readonly body: { readonly error: string } } {
  return { status: statuses[error.code], body: { error: textOf(error) } }
}

/** Ollama cuts a prompt that is too long; its users learn here that this server does not. */
function textOf({ code, message }: AppError): string {
  return code === 'context-length-exceeded' ? `${message}; Dragoman does not drop messages` : message
}

/** The same for embeddings, in Ollama's words for an input that may not be cut. */
export function encodeEmbedError(error: AppError): ErrorReply {
  if (error.code !== 'context-length-exceeded') return encodeOllamaError(error)
  return { status: 400, body: { error: `the input length exceeds the context length: ${error.message}` } }
}

import type { AppError, ContextOverflow, ErrorCode } from '../../contract/errors.ts'

/** OpenAI's error envelope, the same in every reply and stream of its protocols. */
export type OpenaiError = {
  readonly error: {
    readonly message: string
    readonly type: ErrorType
    readonly param: string | null
    readonly code: string | null
  }
}

type ErrorType = 'invalid_request_error' | 'authentication_error' | 'permission_error' | 'rate_limit_error' | 'server_error'

/** Codes are OpenAI's own where it has one that clients look for, and ours in snake_case elsewhere. */
const errorWords: Readonly<Record<ErrorCode, readonly [type: ErrorType, code: string]>> = {
  'invalid-request': ['invalid_request_error', 'invalid_request'],
  'invalid-json': ['invalid_request_error', 'invalid_json'],
  'unsupported-field': ['invalid_request_error', 'unsupported_field'],
  'context-length-exceeded': ['invalid_request_error', 'context_length_exceeded'],
  'template-failed': ['invalid_request_error', 'template_failed'],
  unauthorized: ['authentication_error', 'invalid_api_key'],
  forbidden: ['permission_error', 'forbidden'],
  'host-not-allowed': ['permission_error', 'host_not_allowed'],
  'origin-not-allowed': ['permission_error', 'origin_not_allowed'],
  'route-not-found': ['invalid_request_error', 'unknown_url'],
  'model-not-found': ['invalid_request_error', 'model_not_found'],
  'method-not-allowed': ['invalid_request_error', 'method_not_allowed'],
  'request-conflict': ['invalid_request_error', 'request_conflict'],
  'body-too-large': ['invalid_request_error', 'body_too_large'],
  'unsupported-media-type': ['invalid_request_error', 'unsupported_media_type'],
  'queue-full': ['rate_limit_error', 'queue_full'],
  cancelled: ['server_error', 'cancelled'],
  internal: ['server_error', 'internal_error'],
  'engine-failed': ['server_error', 'engine_failed'],
  'invalid-output': ['server_error', 'invalid_output'],
  'model-unavailable': ['server_error', 'model_unavailable'],
  'shutting-down': ['server_error', 'shutting_down'],
}

/** A failure in OpenAI's words. */
export function encodeOpenaiError(error: AppError): OpenaiError {
  const [type, code] = errorWords[error.code]
  const message = error.overflow === undefined ? error.message : describeOverflow(error.overflow)
  return { error: { message, type, param: error.param ?? null, code } }
}

/** OpenAI's own sentence: agents look for its first half to know that they must shorten the conversation. */
function describeOverflow({ inputTokens, estimated, outputTokens, contextLength }: ContextOverflow): string {
  const limit = `This model's maximum context length is ${contextLength} tokens.`
  // An estimate is far beyond the context by itself; a sum with it would only look exact.
  if (outputTokens === undefined || estimated) {
    const about = estimated ? 'about ' : ''
    return `${limit} However, your messages resulted in ${about}${inputTokens} tokens. Please reduce the length of the messages.`
  }
  const total = inputTokens + outputTokens
  return `${limit} However, you requested ${total} tokens (${inputTokens} in the messages, ${outputTokens} in the completion). Please reduce the length of the messages or completion.`
}

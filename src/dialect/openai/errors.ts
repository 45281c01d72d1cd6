import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ContextOverflow, ErrorCode } from '../../contract/errors.ts'
import { formatDuration } from './limit-headers.ts'
import type { OpenaiError } from './replies.ts'

type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'server_error'

/** The codes are OpenAI's where clients look for one, and otherwise ours in snake_case. */
const errorWords: Readonly<Record<ErrorCode, readonly [status: number, type: ErrorType, code: string]>> = {
  'invalid-request': [400, 'invalid_request_error', 'invalid_request'],
  'invalid-json': [400, 'invalid_request_error', 'invalid_json'],
  'unsupported-field': [400, 'invalid_request_error', 'unsupported_field'],
  'context-length-exceeded': [400, 'invalid_request_error', 'context_length_exceeded'],
  'template-failed': [400, 'invalid_request_error', 'template_failed'],
  unauthorized: [401, 'authentication_error', 'invalid_api_key'],
  forbidden: [403, 'permission_error', 'forbidden'],
  'host-not-allowed': [403, 'permission_error', 'host_not_allowed'],
  'origin-not-allowed': [403, 'permission_error', 'origin_not_allowed'],
  'route-not-found': [404, 'invalid_request_error', 'unknown_url'],
  'model-not-found': [404, 'invalid_request_error', 'model_not_found'],
  'not-found': [404, 'invalid_request_error', 'not_found'],
  'previous-response-not-found': [400, 'invalid_request_error', 'previous_response_not_found'],
  'method-not-allowed': [405, 'invalid_request_error', 'method_not_allowed'],
  'request-conflict': [409, 'invalid_request_error', 'request_conflict'],
  'conversation-locked': [400, 'invalid_request_error', 'conversation_locked'],
  'connection-limit-reached': [400, 'invalid_request_error', 'websocket_connection_limit_reached'],
  'body-too-large': [413, 'invalid_request_error', 'body_too_large'],
  'unsupported-media-type': [415, 'invalid_request_error', 'unsupported_media_type'],
  'queue-full': [429, 'rate_limit_error', 'queue_full'],
  'queue-timeout': [503, 'server_error', 'queue_timeout'],
  'first-token-timeout': [504, 'server_error', 'first_token_timeout'],
  'stall-timeout': [504, 'server_error', 'stall_timeout'],
  'rate-limit-exceeded': [429, 'rate_limit_error', 'rate_limit_exceeded'],
  'budget-exceeded': [429, 'insufficient_quota', 'insufficient_quota'],
  overloaded: [503, 'server_error', 'overloaded'],
  cancelled: [499, 'server_error', 'cancelled'],
  internal: [500, 'server_error', 'internal_error'],
  'engine-failed': [500, 'server_error', 'engine_failed'],
  'upstream-failed': [502, 'server_error', 'upstream_failed'],
  'upstream-timeout': [504, 'server_error', 'upstream_timeout'],
  'invalid-output': [502, 'server_error', 'invalid_output'],
  'model-unavailable': [503, 'server_error', 'model_unavailable'],
  'store-unavailable': [503, 'server_error', 'store_unavailable'],
  'shutting-down': [503, 'server_error', 'shutting_down'],
}

/** Encodes an error in OpenAI's form. */
export function encodeOpenaiError(error: AppError): ErrorReply & { readonly body: OpenaiError } {
  const [status, type, code] = errorWords[error.code]
  const message = describeExceeded(error) ?? describeOverflow(error.overflow) ?? error.message
  return { status, body: { error: { message, type, param: error.param ?? null, code, ...countsOf(error.overflow) } } }
}

/** For llama-server's clients, which show both numbers. */
function countsOf(overflow: ContextOverflow | undefined) {
  if (overflow === undefined || overflow.inputTokens < overflow.contextLength) return undefined
  return { n_prompt_tokens: overflow.inputTokens, n_ctx: overflow.contextLength }
}

/** In OpenAI's words: Codex reads the time to wait from the text. */
function describeExceeded({ code, exceeded, retryAfterMs }: AppError): string | undefined {
  if (exceeded === undefined || code === 'budget-exceeded') return undefined
  const { unit, limit, used, requested, group } = exceeded
  const whose = group === undefined ? 'this API key' : `the group '${group}' of this API key`
  const which = unit === 'tokens' ? 'tokens per min (TPM)' : 'requests per min (RPM)'
  if (retryAfterMs === undefined)
    return `Request too large for the limit of ${whose} on ${which}: Limit ${limit}, Requested ${requested}. Reduce the prompt.`
  return `Rate limit reached for ${whose} on ${which}: Limit ${limit}, Used ${used}, Requested ${requested}. Please try again in ${formatDuration(retryAfterMs)}.`
}

/**
 * OpenAI's message: agents match its first half to detect that they must shorten the conversation. Undefined if the prompt would fit, and
 * the output is unknown.
 */
function describeOverflow(overflow: ContextOverflow | undefined): string | undefined {
  if (overflow === undefined) return undefined
  const { inputTokens, estimated, outputTokens, contextLength, tools } = overflow
  const fewer = tools === undefined ? '' : `, or send fewer than ${tools} tools`
  if (outputTokens === undefined && inputTokens < contextLength) return undefined
  const limit = `This model's maximum context length is ${contextLength} tokens.`
  // An estimate is already far above the context length; a sum with it would only look exact.
  if (outputTokens === undefined || estimated) {
    const about = estimated ? 'about ' : ''
    return `${limit} However, your messages resulted in ${about}${inputTokens} tokens. Please reduce the length of the messages${fewer}.`
  }
  const total = inputTokens + outputTokens
  return `${limit} However, you requested ${total} tokens (${inputTokens} in the messages, ${outputTokens} in the completion). Please reduce the length of the messages or completion${fewer}.`
}

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ContextOverflow, ErrorCode } from '../../contract/errors.ts'
import type { AnthropicError } from './replies.ts'

type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'timeout_error'
  | 'overloaded_error'

/** Anthropic's statuses; 529 tells its clients to try again later. */
const errorWords: Readonly<Record<ErrorCode, readonly [status: number, type: ErrorType]>> = {
  'invalid-request': [400, 'invalid_request_error'],
  'invalid-json': [400, 'invalid_request_error'],
  'unsupported-field': [400, 'invalid_request_error'],
  'context-length-exceeded': [400, 'invalid_request_error'],
  'template-failed': [400, 'invalid_request_error'],
  unauthorized: [401, 'authentication_error'],
  forbidden: [403, 'permission_error'],
  'host-not-allowed': [403, 'permission_error'],
  'origin-not-allowed': [403, 'permission_error'],
  'route-not-found': [404, 'not_found_error'],
  'model-not-found': [404, 'not_found_error'],
  'not-found': [404, 'not_found_error'],
  'previous-response-not-found': [400, 'invalid_request_error'],
  'method-not-allowed': [405, 'invalid_request_error'],
  'request-conflict': [409, 'invalid_request_error'],
  'conversation-locked': [400, 'invalid_request_error'],
  'connection-limit-reached': [400, 'invalid_request_error'],
  'body-too-large': [413, 'request_too_large'],
  'unsupported-media-type': [415, 'invalid_request_error'],
  'queue-full': [429, 'rate_limit_error'],
  'queue-timeout': [529, 'overloaded_error'],
  'first-token-timeout': [504, 'timeout_error'],
  'stall-timeout': [504, 'timeout_error'],
  'rate-limit-exceeded': [429, 'rate_limit_error'],
  'budget-exceeded': [429, 'rate_limit_error'],
  overloaded: [529, 'overloaded_error'],
  cancelled: [499, 'api_error'],
  internal: [500, 'api_error'],
  'engine-failed': [500, 'api_error'],
  'upstream-failed': [502, 'api_error'],
  'upstream-timeout': [504, 'timeout_error'],
  'invalid-output': [502, 'api_error'],
  'model-unavailable': [529, 'overloaded_error'],
  'store-unavailable': [529, 'overloaded_error'],
  'shutting-down': [529, 'overloaded_error'],
}

/** The header with the request's id in Anthropic's replies; its SDKs show it. */
export const requestIdHeader = 'request-id'

export function encodeAnthropicError(error: AppError, requestId?: string): ErrorReply & { readonly body: AnthropicError } {
  const [status, type] = errorWords[error.code]
  const message = describeExceeded(error) ?? describeOverflow(error.overflow) ?? withParam(error)
  const body = { type: 'error', error: { type, message }, request_id: requestId ?? null } as const
  return { status, ...(requestId !== undefined && { headers: { [requestIdHeader]: requestId } }), body }
}

function describeExceeded({ code, exceeded, retryAfterMs }: AppError): string | undefined {
  if (exceeded === undefined || code === 'budget-exceeded') return undefined
  const { unit, limit, used, requested, group } = exceeded
  const whose = group === undefined ? 'this API key' : `the group '${group}' of this API key`
  const advice = retryAfterMs === undefined ? 'Reduce the prompt.' : 'Reduce the prompt or `max_tokens`, or try again later.'
  return `This request would exceed the rate limit of ${whose} of ${limit} ${unit} per minute (used: ${used}, requested: ${requested}). ${advice}`
}

/** The envelope has no field for it. */
function withParam({ message, param }: AppError): string {
  return param === undefined || message.includes(param) ? message : `${param}: ${message}`
}

/**
 * Anthropic's messages: clients read their numbers to compact the conversation. Undefined if the prompt would fit, and the output is
 * unknown.
 */
function describeOverflow(overflow: ContextOverflow | undefined): string | undefined {
  if (overflow === undefined) return undefined
  const { inputTokens, outputTokens, contextLength, tools } = overflow
  if (outputTokens === undefined && inputTokens < contextLength) return undefined
  if (inputTokens > contextLength || outputTokens === undefined) {
    const declared = tools === undefined ? '' : `; it declares ${tools} tools: send fewer`
    return `prompt is too long: ${inputTokens} tokens > ${contextLength} maximum${declared}`
  }
  return `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${outputTokens} > ${contextLength}, decrease input length or \`max_tokens\` and try again`
}

import type { AppError, ErrorCode } from '../../contract/errors.ts'
import type { FinishReason, Usage } from '../../contract/event.ts'
import type { ResponseStatus } from '../../contract/store.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { ResponseUsage, WireResponse } from './replies.ts'

type ResponseEnd = {
  readonly status: ResponseStatus
  readonly incomplete?: 'max_output_tokens' | 'content_filter'
}

/** OpenAI knows two reasons: a truncated response is never `completed`, which clients read as whole. */
const ends: Readonly<Record<FinishReason, ResponseEnd>> = {
  stop: { status: 'completed' },
  'tool-calls': { status: 'completed' },
  'end-of-message': { status: 'completed' },
  length: { status: 'incomplete', incomplete: 'max_output_tokens' },
  'context-full': { status: 'incomplete', incomplete: 'max_output_tokens' },
  paused: { status: 'incomplete', incomplete: 'max_output_tokens' },
  'content-filter': { status: 'incomplete', incomplete: 'content_filter' },
  refusal: { status: 'incomplete', incomplete: 'content_filter' },
  cancelled: { status: 'cancelled' },
}

export function endOf(reason: FinishReason): ResponseEnd {
  return ends[reason]
}

/** The codes that clients look for; all others are `server_error`. */
const codes: Partial<Readonly<Record<ErrorCode, string>>> = {
  'context-length-exceeded': 'context_length_exceeded',
  'queue-full': 'rate_limit_exceeded',
  'rate-limit-exceeded': 'rate_limit_exceeded',
  'budget-exceeded': 'rate_limit_exceeded',
  'invalid-request': 'invalid_prompt',
  'unsupported-field': 'invalid_prompt',
  'template-failed': 'invalid_prompt',
}

export function encodeFailure(error: AppError): NonNullable<WireResponse['error']> {
  return { code: codes[error.code] ?? 'server_error', message: encodeOpenaiError(error).body.error.message }
}

export function encodeUsage({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage): ResponseUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}

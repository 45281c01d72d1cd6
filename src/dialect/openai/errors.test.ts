import { describe, expect, test } from 'vitest'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import { encodeOpenaiError } from './errors.ts'

describe('encodeOpenaiError', () => {
  test.each<[ErrorCode, number, string, string]>([
    ['invalid-request', 400, 'invalid_request_error', 'invalid_request'],
    ['invalid-json', 400, 'invalid_request_error', 'invalid_json'],
    ['unsupported-field', 400, 'invalid_request_error', 'unsupported_field'],
    ['context-length-exceeded', 400, 'invalid_request_error', 'context_length_exceeded'],
    ['template-failed', 400, 'invalid_request_error', 'template_failed'],
    ['unauthorized', 401, 'authentication_error', 'invalid_api_key'],
    ['forbidden', 403, 'permission_error', 'forbidden'],
    ['host-not-allowed', 403, 'permission_error', 'host_not_allowed'],
    ['origin-not-allowed', 403, 'permission_error', 'origin_not_allowed'],
    ['route-not-found', 404, 'invalid_request_error', 'unknown_url'],
    ['model-not-found', 404, 'invalid_request_error', 'model_not_found'],
    ['not-found', 404, 'invalid_request_error', 'not_found'],
    ['previous-response-not-found', 400, 'invalid_request_error', 'previous_response_not_found'],
    ['conversation-locked', 400, 'invalid_request_error', 'conversation_locked'],
    ['connection-limit-reached', 400, 'invalid_request_error', 'websocket_connection_limit_reached'],
    ['method-not-allowed', 405, 'invalid_request_error', 'method_not_allowed'],
    ['request-conflict', 409, 'invalid_request_error', 'request_conflict'],
    ['body-too-large', 413, 'invalid_request_error', 'body_too_large'],
    ['unsupported-media-type', 415, 'invalid_request_error', 'unsupported_media_type'],
    ['queue-full', 429, 'rate_limit_error', 'queue_full'],
    ['rate-limit-exceeded', 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['budget-exceeded', 429, 'insufficient_quota', 'insufficient_quota'],
    ['overloaded', 503, 'server_error', 'overloaded'],
    ['cancelled', 499, 'server_error', 'cancelled'],
    ['internal', 500, 'server_error', 'internal_error'],
    ['engine-failed', 500, 'server_error', 'engine_failed'],
    ['upstream-failed', 502, 'server_error', 'upstream_failed'],
    ['invalid-output', 502, 'server_error', 'invalid_output'],
    ['model-unavailable', 503, 'server_error', 'model_unavailable'],
    ['store-unavailable', 503, 'server_error', 'store_unavailable'],
    ['shutting-down', 503, 'server_error', 'shutting_down'],
  ])('%s has the status %i, the type %s and the code %s', (code, status, type, wireCode) => {
    expect(encodeOpenaiError(new AppError(code, 'why', { param: 'x[0].y' }))).toEqual({
      status,
      body: { error: { message: 'why', type, param: 'x[0].y', code: wireCode } },
    })
  })

  test('an absent param is null, never missing', () => {
    expect(encodeOpenaiError(new AppError('internal', 'why')).body.error.param).toBeNull()
  })

  test('an overflow without a token limit quotes the prompt and the context', () => {
    const error = new AppError('context-length-exceeded', 'too long', { overflow: { inputTokens: 9001, contextLength: 8192 } })
    expect(encodeOpenaiError(error).body.error.message).toBe(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
    )
  })

  test('tools that a prompt declares are part of what is too long', () => {
    const overflow = { inputTokens: 9001, contextLength: 8192, tools: 24 }
    const { message } = encodeOpenaiError(new AppError('context-length-exceeded', 'too long', { overflow })).body.error
    expect(message).toMatch(/9001 tokens\. Please reduce the length of the messages, or send fewer than 24 tools\.$/)
  })

  test('an estimated prompt length says that it is one', () => {
    const overflow = { inputTokens: 90_000, estimated: true, outputTokens: 5, contextLength: 8192 }
    const { message } = encodeOpenaiError(new AppError('context-length-exceeded', 'too long', { overflow })).body.error
    expect(message).toContain('about 90000 tokens')
  })

  test('a prompt that would fit is not called too long where the output is unknown', () => {
    const overflow = { inputTokens: 769, contextLength: 8192 }
    const { message } = encodeOpenaiError(new AppError('context-length-exceeded', 'max_tokens is too large', { overflow })).body
      .error
    expect(message).toBe('max_tokens is too large')
  })

  test('an overflow by the token limit quotes every number', () => {
    const error = new AppError('context-length-exceeded', 'too long', {
      overflow: { inputTokens: 8000, outputTokens: 500, contextLength: 8192 },
    })
    const { message } = encodeOpenaiError(error).body.error
    for (const number of ['8192', '8500', '8000', '500']) expect(message).toContain(number)
  })
})

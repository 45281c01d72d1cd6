import { describe, expect, test } from 'vitest'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import { encodeOpenaiError } from './errors.ts'

describe('encodeOpenaiError', () => {
  test.each<[ErrorCode, string, string]>([
    ['invalid-request', 'invalid_request_error', 'invalid_request'],
    ['unsupported-field', 'invalid_request_error', 'unsupported_field'],
    ['context-length-exceeded', 'invalid_request_error', 'context_length_exceeded'],
    ['unauthorized', 'authentication_error', 'invalid_api_key'],
    ['forbidden', 'permission_error', 'forbidden'],
    ['model-not-found', 'invalid_request_error', 'model_not_found'],
    ['queue-full', 'rate_limit_error', 'queue_full'],
    ['engine-failed', 'server_error', 'engine_failed'],
    ['internal', 'server_error', 'internal_error'],
  ])('%s has the type %s and the code %s', (code, type, wireCode) => {
    expect(encodeOpenaiError(new AppError(code, 'why', { param: 'x[0].y' }))).toEqual({
      error: { message: 'why', type, param: 'x[0].y', code: wireCode },
    })
  })

  test('an absent param is null, never missing', () => {
    expect(encodeOpenaiError(new AppError('internal', 'why')).error.param).toBeNull()
  })

  test('an overflow without a token limit quotes the prompt and the context', () => {
    const error = new AppError('context-length-exceeded', 'too long', { overflow: { inputTokens: 9001, contextLength: 8192 } })
    expect(encodeOpenaiError(error).error.message).toBe(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
    )
  })

  test('an estimated prompt length says that it is one', () => {
    const overflow = { inputTokens: 90_000, estimated: true, outputTokens: 5, contextLength: 8192 }
    const { message } = encodeOpenaiError(new AppError('context-length-exceeded', 'too long', { overflow })).error
    expect(message).toContain('about 90000 tokens')
  })

  test('an overflow by the token limit quotes every number', () => {
    const error = new AppError('context-length-exceeded', 'too long', {
      overflow: { inputTokens: 8000, outputTokens: 500, contextLength: 8192 },
    })
    const { message } = encodeOpenaiError(error).error
    for (const number of ['8192', '8500', '8000', '500']) expect(message).toContain(number)
  })
})

import { expect, test } from 'vitest'
import { AppError } from '../../../contract/errors.ts'
import { toAppError, UpstreamError, type UpstreamFailure } from './upstream-error.ts'

const overflow = { inputTokens: 5000, contextLength: 4096 }

test.each<[UpstreamFailure, Partial<AppError>]>([
  [{ type: 'connection', isRefused: true }, { code: 'model-unavailable' }],
  [{ type: 'truncated' }, { code: 'upstream-failed' }],
  [{ type: 'status', status: 400 }, { code: 'invalid-request' }],
  [
    { type: 'status', status: 400, overflow },
    { code: 'context-length-exceeded', overflow },
  ],
  [
    { type: 'status', status: 413, overflow },
    { code: 'context-length-exceeded', overflow },
  ],
  [
    { type: 'status', status: 429, retryAfterMs: 7 },
    { code: 'queue-full', retryAfterMs: 7 },
  ],
  [
    { type: 'status', status: 503, retryAfterMs: 7 },
    { code: 'model-unavailable', retryAfterMs: 7 },
  ],
  [
    { type: 'status', status: 500, retryAfterMs: 7 },
    { code: 'upstream-failed', retryAfterMs: undefined },
  ],
  [{ type: 'status', status: 418 }, { code: 'upstream-failed' }],
])('%j becomes %j, with the failed exchange as its cause', (failure, wanted) => {
  const error = new UpstreamError(failure, 'it failed')
  const seen = toAppError(error)
  expect(seen).toBeInstanceOf(AppError)
  expect(seen).toMatchObject({ ...wanted, message: 'it failed' })
  expect(seen.cause).toBe(error)
})

test('an AppError stays as it is', () => {
  const error = new AppError('unsupported-field', 'no')
  expect(toAppError(error)).toBe(error)
})

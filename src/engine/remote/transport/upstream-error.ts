import { AppError, type ContextOverflow, type ErrorCode } from '../../../contract/errors.ts'

/** How an exchange with an upstream failed. */
export type UpstreamFailure =
  /** Nothing was received. `isRefused`: nothing listens at the address, or the name does not resolve. */
  | { readonly type: 'connection'; readonly isRefused: boolean }
  /** `overflow`: the prompt is too long, with the numbers from the upstream's message. */
  | { readonly type: 'status'; readonly status: number; readonly retryAfterMs?: number; readonly overflow?: ContextOverflow }
  /** The reply began and then broke off, or was not a reply in the expected format. */
  | { readonly type: 'truncated' }

/** A failed exchange, thrown inside engine/remote: `failure` is for the retry rule, `message` for the client. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UpstreamError'
    this.failure = failure
  }
}

/** Any error as callers of the engine see it; an `UpstreamError` becomes the cause of an `AppError` with its message. */
export function toAppError(error: unknown): AppError {
  if (!(error instanceof UpstreamError)) return AppError.from(error)
  const { failure, message } = error
  return new AppError(codeOf(failure), message, { cause: error, ...(failure.type === 'status' && detailsOf(failure)) })
}

type FailedStatus = Extract<UpstreamFailure, { type: 'status' }>

function codeOf(failure: UpstreamFailure): ErrorCode {
  switch (failure.type) {
    case 'connection':
      return 'model-unavailable'
    case 'status':
      return codeOfStatus(failure)
    case 'truncated':
      return 'engine-failed'
  }
}

function codeOfStatus({ status, overflow }: FailedStatus): ErrorCode {
  if (overflow !== undefined) return 'context-length-exceeded'
  if (status === 400 || status === 422) return 'invalid-request'
  if (status === 413) return 'body-too-large'
  if (isBusy(status)) return 'queue-full'
  // The operator's fault, not the client's: a wrong key, a wrong address, a missing model.
  if ((status >= 300 && status < 400) || status === 401 || status === 403 || status === 404) return 'model-unavailable'
  return status === 503 ? 'model-unavailable' : 'engine-failed'
}

function detailsOf({ status, retryAfterMs, overflow }: FailedStatus) {
  const canWait = isBusy(status) || status === 503
  return {
    ...(overflow !== undefined && { overflow }),
    ...(retryAfterMs !== undefined && canWait && { retryAfterMs }),
  }
}

function isBusy(status: number): boolean {
  return status === 408 || status === 425 || status === 429
}

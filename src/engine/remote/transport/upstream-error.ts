import { AppError, type ContextOverflow, type ErrorCode, type ErrorOptions, messageOf } from '../../../contract/errors.ts'
import { withoutSecrets } from './secrets.ts'

/** How an exchange with an upstream failed. */
export type UpstreamFailure =
  /** Nothing was received. `isRefused`: nothing listens at the address, or the name does not resolve. */
  | { readonly type: 'connection'; readonly isRefused: boolean }
  /**
   * `isTooLong`: the prompt is too long, by the upstream's code; `overflow`, `mostOutputTokens`: the numbers from its message. `param`: the
   * field that it names; `code`: its own code for the failure. `isEvent`: it came in a reply that had begun. `lacksRoute`: the server does
   * not offer the route.
   */
  | {
      readonly type: 'status'
      readonly status: number
      readonly retryAfterMs?: number
      readonly overflow?: ContextOverflow
      readonly mostOutputTokens?: number
      readonly isTooLong?: boolean
      readonly param?: string
      readonly code?: string
      readonly isEvent?: true
      readonly lacksRoute?: true
    }
  /** The connection broke within the reply. */
  | { readonly type: 'truncated' }
  /** We closed the connection: the server failed its health checks, gave nobody a token, or was removed. */
  | { readonly type: 'silent' }
  /** It sent something that is not a reply: invalid JSON, or not an object. */
  | { readonly type: 'malformed' }
  /** The reply ended in order, but lacks a finish reason or a choice. `saidDone`: the server declared the stream complete. */
  | { readonly type: 'incomplete'; readonly saidDone: boolean }
  /** The reply is larger than any that a request needs; repeating the request would only repeat the cost. */
  | { readonly type: 'excess' }

/**
 * A failed exchange, thrown inside engine/remote. `failure` is for the retry rule, `message` for the client. Secrets are removed from
 * quotes of the server, and only the message of its cause is kept: parse errors hold the bytes at which they failed.
 */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, message: string, options?: { readonly cause?: unknown }) {
    super(withoutSecrets(message), options?.cause === undefined ? undefined : { cause: plainCause(options.cause) })
    this.name = 'UpstreamError'
    this.failure = failure
  }

  /** The same failure with other texts. */
  withTexts(change: (text: string) => string): UpstreamError {
    const { failure } = this
    const isNamed = failure.type === 'status' && failure.param !== undefined
    const changed = isNamed ? { ...failure, param: change(failure.param) } : failure
    const cause = this.cause === undefined ? {} : { cause: new Error(change(messageOf(this.cause))) }
    return new UpstreamError(changed, change(this.message), cause)
  }
}

function plainCause(cause: unknown): Error {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new Error(withoutSecrets(messageOf(cause) + code))
}

/** The error as callers of the engine see it. An `UpstreamError` becomes the cause of an `AppError` with its message. */
export function toAppError(error: unknown, options: Pick<ErrorOptions, 'preparesAgain'> = {}): AppError {
  if (!(error instanceof UpstreamError)) return AppError.from(error)
  const { failure, message } = error
  return new AppError(codeOf(failure), message, {
    cause: error,
    ...(failure.type === 'status' && detailsOf(failure)),
    ...options,
  })
}

type FailedStatus = Extract<UpstreamFailure, { type: 'status' }>

function codeOf(failure: UpstreamFailure): ErrorCode {
  switch (failure.type) {
    case 'connection':
      return 'model-unavailable'
    case 'status':
      return codeOfStatus(failure)
    case 'truncated':
    case 'silent':
    case 'malformed':
    case 'incomplete':
    case 'excess':
      return 'upstream-failed'
  }
}

function codeOfStatus({ status, code, overflow, isTooLong, lacksRoute }: FailedStatus): ErrorCode {
  if (overflow !== undefined || isTooLong === true) return 'context-length-exceeded'
  if (code === 'invalid_output') return 'invalid-output'
  if (code === 'template_failed') return 'template-failed'
  if (lacksRoute === true) return 'unsupported-field'
  if (status === 408 || status === 504) return 'upstream-timeout'
  if (status === 400 || status === 422) return 'invalid-request'
  if (status === 413) return 'body-too-large'
  if (isBusy(status)) return 'queue-full'
  // The operator's fault, not the client's: a wrong key, a wrong address, a missing model.
  if ((status >= 300 && status < 400) || status === 401 || status === 403 || status === 404) return 'model-unavailable'
  return status === 503 || status === 529 ? 'model-unavailable' : 'upstream-failed'
}

function detailsOf({ status, retryAfterMs, overflow, mostOutputTokens, param, lacksRoute }: FailedStatus) {
  const canWait = isBusy(status) || status === 503 || status === 529
  return {
    ...(overflow !== undefined && { overflow }),
    ...(mostOutputTokens !== undefined && { mostOutputTokens, at: ['maxOutputTokens'] }),
    ...(lacksRoute === true && { at: ['model'] }),
    // The client may have used another of the names.
    ...(param !== undefined && (limitNames.has(param) ? { at: ['maxOutputTokens'] } : { param })),
    ...(retryAfterMs !== undefined && canWait && { retryAfterMs }),
  }
}

const limitNames = new Set(['max_tokens', 'max_completion_tokens'])

function isBusy(status: number): boolean {
  return status === 425 || status === 429
}

/** The failure of a reply that exceeds a bound. */
export function excess(what: string): UpstreamError {
  return new UpstreamError({ type: 'excess' }, `the server behind this model sent ${what}`)
}

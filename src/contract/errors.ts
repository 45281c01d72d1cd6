/** How a failure is reported: HTTP status and log level. */
type ErrorFacts = { readonly status: number; readonly level: 'info' | 'warn' | 'error' }

/** Every failure that Dragoman can report, in one table. Nothing outside it knows about HTTP statuses. */
const errorTable = {
  'invalid-request': { status: 400, level: 'info' },
  'invalid-json': { status: 400, level: 'info' },
  'unsupported-field': { status: 400, level: 'info' },
  'context-length-exceeded': { status: 400, level: 'info' },
  'template-failed': { status: 400, level: 'info' },
  unauthorized: { status: 401, level: 'info' },
  forbidden: { status: 403, level: 'info' },
  'host-not-allowed': { status: 403, level: 'warn' },
  'origin-not-allowed': { status: 403, level: 'warn' },
  'route-not-found': { status: 404, level: 'info' },
  'model-not-found': { status: 404, level: 'info' },
  'method-not-allowed': { status: 405, level: 'info' },
  'request-conflict': { status: 409, level: 'info' },
  'body-too-large': { status: 413, level: 'info' },
  'unsupported-media-type': { status: 415, level: 'info' },
  'queue-full': { status: 429, level: 'warn' },
  cancelled: { status: 499, level: 'info' },
  internal: { status: 500, level: 'error' },
  'engine-failed': { status: 500, level: 'error' },
  'invalid-output': { status: 502, level: 'warn' },
  'model-unavailable': { status: 503, level: 'warn' },
  'shutting-down': { status: 503, level: 'info' },
} as const satisfies Record<string, ErrorFacts>

/** The closed set of failure codes; dialects map each to their own envelope. */
export type ErrorCode = keyof typeof errorTable

/** The numbers of a refused request, in tokens; dialects quote both in their own words. */
export type ContextOverflow = {
  readonly inputTokens: number
  /** `inputTokens` was projected from the part that was read: a prompt far too long is not counted to its end. */
  readonly estimated?: boolean
  /** What the caller asked to be generated; absent when it named no limit. */
  readonly outputTokens?: number
  readonly contextLength: number
}

type ErrorOptions = {
  /** The request field at fault, in the caller's spelling, such as `messages[0].role`. */
  readonly param?: string
  readonly retryAfterMs?: number
  readonly overflow?: ContextOverflow
  readonly cause?: unknown
}

/** The only error class. `message` says what was wrong, with which value, and what to do. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  readonly overflow: ContextOverflow | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.param = options.param
    this.retryAfterMs = options.retryAfterMs
    this.overflow = options.overflow
  }

  get status(): number {
    return errorTable[this.code].status
  }

  get level(): ErrorFacts['level'] {
    return errorTable[this.code].level
  }

  /** Turns anything thrown into an `AppError`; what is not ours becomes `internal`, with the original as cause. */
  static from(error: unknown): AppError {
    if (error instanceof AppError) return error
    return new AppError('internal', 'internal error; the log has the details', { cause: error })
  }
}

/** Whether a text from outside (a worker's message) names one of our codes. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code)
}

/** What went wrong, in words, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

import { type CanonicalPath, fillFields, formatPath, type NameOf } from './field.ts'
import type { ExceededLimit } from './quota.ts'

/** All failure codes and their log levels. Dialects map each code to a status and an envelope. */
const errorLevels = {
  'invalid-request': 'info',
  'invalid-json': 'info',
  'unsupported-field': 'info',
  'context-length-exceeded': 'info',
  'template-failed': 'info',
  unauthorized: 'info',
  forbidden: 'info',
  'host-not-allowed': 'warn',
  'origin-not-allowed': 'warn',
  'route-not-found': 'info',
  'model-not-found': 'info',
  'not-found': 'info',
  'previous-response-not-found': 'info',
  'method-not-allowed': 'info',
  'request-conflict': 'info',
  'conversation-locked': 'info',
  'connection-limit-reached': 'info',
  'body-too-large': 'info',
  'unsupported-media-type': 'info',
  'queue-full': 'warn',
  'queue-timeout': 'warn',
  'first-token-timeout': 'warn',
  'stall-timeout': 'warn',
  'rate-limit-exceeded': 'info',
  'budget-exceeded': 'info',
  overloaded: 'warn',
  cancelled: 'info',
  internal: 'error',
  'engine-failed': 'error',
  'upstream-failed': 'error',
  'upstream-timeout': 'warn',
  'invalid-output': 'warn',
  'model-unavailable': 'warn',
  'store-unavailable': 'error',
  'shutting-down': 'info',
} as const satisfies Record<string, 'info' | 'warn' | 'error'>

export const errorCodes = Object.keys(errorLevels) as readonly ErrorCode[]

/** The closed set of failure codes. */
export type ErrorCode = keyof typeof errorLevels

/** The token counts of a request that does not fit; dialects quote them in their own words. */
export type ContextOverflow = {
  readonly inputTokens: number
  /** `inputTokens` is extrapolated: a far too long prompt is not counted to its end. */
  readonly estimated?: boolean
  /** The requested output tokens; absent without a limit. */
  readonly outputTokens?: number
  readonly contextLength: number
  /** How many tools the prompt declares, where it alone is too long. */
  readonly tools?: number
}

export type ErrorOptions = {
  /** The path at fault in the canonical request; set by core and engines. */
  readonly at?: CanonicalPath
  /** The field at fault in the caller's spelling, such as `messages[0].role`; set by dialects. */
  readonly param?: string
  readonly retryAfterMs?: number
  readonly overflow?: ContextOverflow
  /** The longest output that would have been accepted; set by engines. */
  readonly mostOutputTokens?: number
  readonly exceeded?: ExceededLimit
  /** For a cancellation: the output so far is the reply, and its choices end with this reason. */
  readonly keepsOutput?: 'cancelled' | 'length'
  /** The engine has learned from the failure: prepared once more, the request may succeed. */
  readonly preparesAgain?: boolean
  /** It ended a running request, which has a line of its own in the log. */
  readonly stopsRun?: boolean
  readonly cause?: unknown
}

/**
 * The only error class. `message` says what was wrong, with which value, and what to do. It may name canonical paths with `field(...)`; the
 * dialect translates them, and `at`, into the caller's names (`inWordsOf`).
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly at: CanonicalPath | undefined
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  readonly overflow: ContextOverflow | undefined
  readonly mostOutputTokens: number | undefined
  readonly exceeded: ExceededLimit | undefined
  readonly keepsOutput: ErrorOptions['keepsOutput']
  readonly preparesAgain: boolean
  readonly stopsRun: boolean
  /** The message with its placeholders. */
  readonly template: string
  readonly #options: ErrorOptions

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(fillFields(message, formatPath), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.at = options.at
    this.param = options.param
    this.retryAfterMs = options.retryAfterMs
    this.overflow = options.overflow
    this.mostOutputTokens = options.mostOutputTokens
    this.exceeded = options.exceeded
    this.keepsOutput = options.keepsOutput
    this.preparesAgain = options.preparesAgain ?? false
    this.stopsRun = options.stopsRun ?? false
    this.template = message
    this.#options = options
  }

  /** The same failure in the caller's names: `at` becomes `param`, and paths in the message are translated. */
  inWordsOf(nameOf: NameOf): AppError {
    const message = fillFields(this.template, nameOf)
    if (this.at === undefined && message === this.message) return this
    const { at, ...options } = this.#options
    return new AppError(this.code, message, { ...options, ...(at !== undefined && { param: nameOf(at) }), cause: this })
  }

  /** The same failure with the number of the prompt's tools, where the prompt alone is too long: callers may not know that they are in it. */
  countingTools(tools: number): AppError {
    const { overflow } = this
    if (tools === 0 || overflow === undefined || overflow.inputTokens < overflow.contextLength) return this
    const message = `${this.template}; the prompt declares ${tools} tools: send fewer`
    return new AppError(this.code, message, { ...this.#options, overflow: { ...overflow, tools }, cause: this })
  }

  get level(): 'info' | 'warn' | 'error' {
    return errorLevels[this.code]
  }

  /**
   * Converts anything thrown to an `AppError`; other errors become `internal`, with the original as cause, unless the disk is full or the
   * server may not use its own files.
   */
  static from(error: unknown): AppError {
    if (error instanceof AppError) return error
    if (isDiskFull(error))
      return new AppError('store-unavailable', 'the disk of this server is full; try again once there is room', { cause: error })
    if (isRefusedFile(error)) {
      const message = 'the system does not let this server use a folder of its own; the log names it'
      return new AppError('store-unavailable', message, { cause: error })
    }
    return new AppError('internal', 'internal error; the log has the details', { cause: error })
  }
}

/** Whether a text from outside (a worker's message) is one of our codes. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorLevels, code)
}

/** Whether a file could not be written for lack of room. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

const refusals = new Set(['EACCES', 'EPERM', 'EROFS'])
/** System calls of files, not of connections. */
const fileCalls = new Set(['mkdir', 'open', 'rename', 'rmdir', 'scandir', 'unlink'])

/** Whether a file or folder is another user's, or on a system that is read-only. */
function isRefusedFile(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return false
  return refusals.has(String(error.code)) && fileCalls.has(String(error.syscall))
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

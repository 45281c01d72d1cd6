/**
 * Why a template failed. `syntax`: it does not parse. `undefined`: it used a variable, attribute or item that does not exist.
 * `raised`: it called `raise_exception`. `budget`: it took too many steps, nested too deeply or built too long a value.
 * `runtime`: anything else that Python refuses.
 */
export type JinjaErrorKind = 'syntax' | 'undefined' | 'runtime' | 'raised' | 'budget'

type JinjaErrorOptions = { readonly line?: number | undefined; readonly cause?: unknown }

/** The failure of a template. `message` uses Python's words where Python has an error for it. */
export class JinjaError extends Error {
  readonly kind: JinjaErrorKind
  /** The line of the template, counted from 1. Known for syntax errors only. */
  readonly line: number | undefined

  constructor(kind: JinjaErrorKind, message: string, { line, cause }: JinjaErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'JinjaError'
    this.kind = kind
    this.line = line
  }

  /** Turns anything thrown into a `JinjaError`. An exhausted stack or too long a string is a `RangeError` of JavaScript. */
  static from(error: unknown): JinjaError {
    if (error instanceof JinjaError) return error
    const message = error instanceof Error ? error.message : String(error)
    return new JinjaError(error instanceof RangeError ? 'budget' : 'runtime', message, { cause: error })
  }
}

/** An operation that Python refuses. */
export function runtimeError(message: string): JinjaError {
  return new JinjaError('runtime', message)
}

/** The use of something undefined; `message` names what is missing. */
export function undefinedError(message: string): JinjaError {
  return new JinjaError('undefined', message)
}

/**
 * Why there is no grammar.
 * - `invalid-schema`, `invalid-regex`, `invalid-grammar`: the input is malformed, or nothing can satisfy it.
 * - `schema-too-large`: the schema itself nests too deeply or has too many parts.
 * - `unsupported-schema`, `unsupported-regex`, `unsupported-grammar`: it is valid, but no grammar here can express it.
 * - `grammar-too-large`: its grammar would exceed the limits of size or effort.
 */
export type GrammarErrorKind =
  | 'invalid-schema'
  | 'invalid-regex'
  | 'invalid-grammar'
  | 'schema-too-large'
  | 'unsupported-schema'
  | 'unsupported-regex'
  | 'unsupported-grammar'
  | 'grammar-too-large'

type GrammarErrorOptions = { readonly param?: string | undefined; readonly cause?: unknown }

/** A schema, pattern or grammar of a caller that cannot be used. `message` says why, and what to change. */
export class GrammarError extends Error {
  readonly kind: GrammarErrorKind
  /** The caller's name of the input, followed by the path to the keyword at fault: `schema.properties.a.type`. */
  readonly param: string | undefined

  constructor(kind: GrammarErrorKind, message: string, { param, cause }: GrammarErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'GrammarError'
    this.kind = kind
    this.param = param
  }
}

/** The failure of input that would cost too much. */
export function tooLarge(what: string): GrammarError {
  return new GrammarError('grammar-too-large', `this needs ${what}; make it smaller or simpler`)
}

/** Whether the input is valid, but cannot be expressed within the limits. */
export function isUnsupported(error: unknown): error is GrammarError {
  if (!(error instanceof GrammarError)) return false
  return error.kind === 'unsupported-schema' || error.kind === 'unsupported-regex' || error.kind === 'grammar-too-large'
}

/** What `make` returns; undefined if it would be too large. */
export function unlessTooLarge<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof GrammarError && error.kind === 'grammar-too-large') return undefined
    throw error
  }
}

/** Names the caller's input in errors that do not name one yet. */
export function withParam<T>(param: string | undefined, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof GrammarError) || error.param !== undefined || param === undefined) throw error
    throw new GrammarError(error.kind, error.message, { param, cause: error })
  }
}

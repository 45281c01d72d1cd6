import { AppError, type ErrorCode } from '../contract/errors.ts'
import { GrammarError, type GrammarErrorKind } from '../grammar/grammar-error.ts'

const codes: Readonly<Record<GrammarErrorKind, ErrorCode>> = {
  'invalid-schema': 'invalid-request',
  'invalid-regex': 'invalid-request',
  'invalid-grammar': 'invalid-request',
  'schema-too-large': 'invalid-request',
  'unsupported-schema': 'unsupported-field',
  'unsupported-regex': 'unsupported-field',
  'grammar-too-large': 'unsupported-field',
}

/** What a thread reports of a `GrammarError`. */
export type GrammarRefusal = Pick<GrammarError, 'kind' | 'message' | 'param'>

/** The failure of a request whose schema, pattern or grammar cannot be used. */
export function requestFailure({ kind, message, param }: GrammarRefusal, cause?: unknown): AppError {
  return new AppError(codes[kind], message, { ...(param !== undefined && { param }), cause })
}

/** Runs what compiles or checks a grammar of a request. A `GrammarError` becomes the failure of the request. */
export function compileForRequest<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw error instanceof GrammarError ? requestFailure(error, error) : error
  }
}

import { AppError, type ErrorCode } from '../contract/errors.ts'
import { field, pathOf } from '../contract/field.ts'
import type { OutputConstraint } from '../contract/request.ts'
import { GrammarError, type GrammarErrorKind } from '../grammar/rules/grammar-error.ts'

const codes: Readonly<Record<GrammarErrorKind, ErrorCode>> = {
  'invalid-schema': 'invalid-request',
  'invalid-regex': 'invalid-request',
  'invalid-grammar': 'invalid-request',
  'schema-too-large': 'invalid-request',
  'unsupported-schema': 'unsupported-field',
  'unsupported-regex': 'unsupported-field',
  'unsupported-grammar': 'unsupported-field',
  'grammar-too-large': 'unsupported-field',
}

/** The failure of a request with an unusable schema, pattern or grammar. `param` is usually a placeholder (`field`). */
function requestFailure(error: GrammarError): AppError {
  const { kind, message, param } = error
  const at = param === undefined ? ['output'] : pathOf(param)
  return new AppError(codes[kind], message, { ...(at === undefined ? param !== undefined && { param } : { at }), cause: error })
}

/** Compiles or checks a request's grammar; a `GrammarError` becomes the request's failure. */
export function compileForRequest<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw error instanceof GrammarError ? requestFailure(error) : error
  }
}

/** The `param` of an output for the grammar library, so that errors name the field. */
export function outputParam({ type }: Pick<OutputConstraint, 'type'>): string {
  return type === 'json-schema' ? field('output', 'schema') : field('output')
}

import { given } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field, fillFields } from '../../contract/field.ts'

/** Converts a path in a turn's request to the caller's, which has `added` messages fewer at its beginning. */
export function placeOf(path: CanonicalPath, added: number): CanonicalPath {
  const [root, list, index, ...rest] = path
  if (added === 0 || root !== 'prompt' || list !== 'messages' || typeof index !== 'number') return path
  return [root, list, Math.max(0, index - added), ...rest]
}

/** Converts the places of a turn's failure to the caller's. */
export function withCallersPlaces(error: unknown, added: number): unknown {
  if (!(error instanceof AppError) || added === 0) return error
  const { at, retryAfterMs, overflow, exceeded, keepsOutput, stopsRun } = error
  const message = fillFields(error.template, (path) => field(...placeOf(path, added)))
  if (at === undefined && message === error.template) return error
  return new AppError(error.code, message, {
    ...(at !== undefined && { at: placeOf(at, added) }),
    ...given({ retryAfterMs, overflow, exceeded, keepsOutput }),
    stopsRun,
    cause: error,
  })
}

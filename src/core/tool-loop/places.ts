import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field, fillFields } from '../../contract/field.ts'

/** A path of a turn's request as a path of the caller's, which has `added` messages fewer at its beginning. */
export function placeOf(path: CanonicalPath, added: number): CanonicalPath {
  const [root, list, index, ...rest] = path
  if (added === 0 || root !== 'prompt' || list !== 'messages' || typeof index !== 'number') return path
  return [root, list, Math.max(0, index - added), ...rest]
}

/** A failure of a turn, with the caller's places. */
export function withCallersPlaces(error: unknown, added: number): unknown {
  if (!(error instanceof AppError) || added === 0) return error
  const { at, retryAfterMs, overflow, exceeded, keepsOutput, stopsRun } = error
  const message = fillFields(error.template, (path) => field(...placeOf(path, added)))
  if (at === undefined && message === error.template) return error
  return new AppError(error.code, message, {
    ...(at !== undefined && { at: placeOf(at, added) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(overflow !== undefined && { overflow }),
    ...(exceeded !== undefined && { exceeded }),
    ...(keepsOutput !== undefined && { keepsOutput }),
    stopsRun,
    cause: error,
  })
}

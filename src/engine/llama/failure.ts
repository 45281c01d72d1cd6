import { AppError, isErrorCode } from '../../contract/errors.ts'
import type { Failure } from './channel/ipc.ts'

/** The worker's failure, as the error that it was in the worker. */
export function decodeFailure({ code, message, at, overflow }: Failure): AppError {
  const known = isErrorCode(code) ? code : 'engine-failed'
  return new AppError(known, message, {
    ...(at !== undefined && { at }),
    ...(overflow !== undefined && { overflow }),
  })
}

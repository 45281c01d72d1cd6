import { AppError } from '../../contract/errors.ts'
import { preview } from './preview.ts'

/** `invalid-request` at a field of the request. */
export function invalid(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}

/** The same for a value of a query that is not the expected one. */
export function invalidQuery(param: string, expected: string, sent: unknown): AppError {
  return invalid(param, `${param}: expected ${expected}, got ${preview(sent)}`)
}

import { AppError } from '../contract/errors.ts'
import { type CanonicalPath, field } from '../contract/field.ts'

/** Refuses what `at` refers to; `problem` continues a sentence that its name begins. */
export function invalid(at: CanonicalPath, problem: string, cause?: unknown): AppError {
  return new AppError('invalid-request', `${field(...at)} ${problem}`, { at, ...(cause !== undefined && { cause }) })
}

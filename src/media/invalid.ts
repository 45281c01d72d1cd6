import { AppError } from '../contract/errors.ts'
import { type CanonicalPath, field } from '../contract/field.ts'

/** An error about the part at `at`; `problem` continues a sentence that begins with its name. */
export function invalid(at: CanonicalPath, problem: string, cause?: unknown): AppError {
  return new AppError('invalid-request', `${field(...at)} ${problem}`, { at, ...(cause !== undefined && { cause }) })
}

import { AppError } from '../../contract/errors.ts'

/** The same failure with another name for its field: for a body that was made of one in another protocol's words. */
export function renameField(error: AppError, nameOf: (param: string) => string): AppError {
  const { code, message, param } = error
  const named = param === undefined ? undefined : nameOf(param)
  if (param === undefined || named === undefined || named === param) return error
  return new AppError(code, message.replaceAll(param, named), { param: named, cause: error })
}

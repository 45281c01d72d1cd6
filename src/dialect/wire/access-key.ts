import { AppError } from '../../contract/errors.ts'

/** Characters that a header may hold. */
export const keyPattern = /^[\x21-\x7e]{1,4096}$/

/**
 * A key to send on in a header; undefined without one. Throws `invalid-request`, without the value, for one that a header cannot contain.
 */
export function readAccessKey(param: string, key: string | null | undefined): string | undefined {
  if (key === undefined || key === null || key === '') return undefined
  if (keyPattern.test(key)) return key
  const message = `${param} is not a key: expected a string of up to 4096 visible ASCII characters`
  throw new AppError('invalid-request', message, { param })
}

import { AppError, messageOf } from '../contract/errors.ts'

/** What a database or its driver threw, as a failure of one request: others may not need the store. */
export function toStoreError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const message = `the store failed: ${messageOf(error)}; try again later, or send the request with \`store: false\``
  return new AppError('store-unavailable', message, { cause: error })
}

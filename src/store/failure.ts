import { AppError } from '../contract/errors.ts'
import { networkReason } from '../contract/failure-reason.ts'

/** What a database or its driver threw, as a failure of one request: others may not need the store. */
export function toStoreError(error: unknown): AppError {
  return new AppError('store-unavailable', `the store failed: ${networkReason(error)}; try again later`, { cause: error })
}

import { networkReason } from '../canonical/failure-reason.ts'
import { AppError } from '../contract/errors.ts'

/** What a database or its driver threw, as a failure of one request: others may not need the store. */
export function toStoreError(error: unknown): AppError {
  return new AppError('store-unavailable', `the store failed: ${networkReason(error)}; try again later`, { cause: error })
}

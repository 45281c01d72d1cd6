import { codeOf, networkReason } from '../canonical/failure-reason.ts'
import { AppError } from '../contract/errors.ts'

/** An error of a database or its driver, as a failure of one request: others may not need the store. */
export function toStoreError(error: unknown): AppError {
  return new AppError('store-unavailable', `the store failed: ${networkReason(error)}; try again later`, { cause: error })
}

/** Nothing listens on a port yet; the host has no address yet; and PostgreSQL's `cannot_connect_now`, while it starts. */
const startingCodes: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', '57P03'])

/** Whether a database server that is still starting could have caused the error. */
export function isServerStarting(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (startingCodes.has(codeOf(cause)) || isMissingSocket(cause)) return true
  }
  return false
}

/** Excludes other missing files, such as a certificate. */
function isMissingSocket(error: Error): boolean {
  return codeOf(error) === 'ENOENT' && 'syscall' in error && error.syscall === 'connect'
}

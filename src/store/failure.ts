import { codeOf, networkReason } from '../canonical/failure-reason.ts'
import { AppError } from '../contract/errors.ts'

/** What a database or its driver threw, as a failure of one request: others may not need the store. */
export function toStoreError(error: unknown): AppError {
  return new AppError('store-unavailable', `the store failed: ${networkReason(error)}; try again later`, { cause: error })
}

/** Nothing listens yet on a port; the host has no address yet; and PostgreSQL's `cannot_connect_now`, while it starts. */
const startingCodes: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', '57P03'])

/** Whether a database server that is still starting would have caused it. */
export function isServerStarting(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (startingCodes.has(codeOf(cause)) || isMissingSocket(cause)) return true
  }
  return false
}

/** Not another file that is missing, such as a certificate. */
function isMissingSocket(error: Error): boolean {
  return codeOf(error) === 'ENOENT' && 'syscall' in error && error.syscall === 'connect'
}

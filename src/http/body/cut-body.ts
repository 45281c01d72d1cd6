import { AppError } from '../../contract/errors.ts'

/** The failure of a body whose client has closed the connection; undefined for other failures. */
export function asCutBody(thrown: unknown): AppError | undefined {
  const isCut = thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === 'ECONNRESET'
  return isCut ? cutBody(thrown) : undefined
}

export function cutBody(cause?: unknown): AppError {
  return new AppError('cancelled', 'the client closed the connection before its body was complete', { cause })
}

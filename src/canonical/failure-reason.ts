import { messageOf } from '../contract/errors.ts'

/** Why a file cannot be read, for people: in plain words where there are any, instead of the system's codes. */
export function fileReason(error: unknown): string {
  switch (codeOf(error)) {
    case 'ENOENT':
      return 'there is no such file'
    case 'EISDIR':
      return 'this is a folder'
    case 'EACCES':
    case 'EPERM':
      return 'this user may not read it'
    default:
      return messageOf(error)
  }
}

/** The innermost reason of a network failure: fetch's own message is always "fetch failed". */
export function networkReason(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const code = codeOf(cause)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not speak TLS; try http://'
  // A host with several addresses fails with an AggregateError, which has a code but no message.
  if (cause instanceof Error && cause.message !== '') return cause.message
  return code ?? String(cause)
}

/** The system's or Node's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}

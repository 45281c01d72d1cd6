import { messageOf } from '../../contract/errors.ts'
import { ForbiddenAddress } from '../../media/guarded-connect.ts'
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from './protocol.ts'

const maxLength = 300

/** The server's fault, worded to continue a sentence about it; `why`: the reason that its connection knows. */
export function explainFailure(error: unknown, why: string | undefined): string {
  const found = causes(error)
  if (found.some((cause) => cause instanceof ForbiddenAddress)) return 'it is not at a public address'
  if (found.some((cause) => cause instanceof UnauthorizedError)) return 'it answered with status 401: it needs a valid token'
  for (const cause of found) {
    if (cause instanceof SdkHttpError && cause.status !== undefined) return ofStatus(cause.status)
    if (cause instanceof ProtocolError) return `it answered with an error: ${short(cause.message)}`
    if (!(cause instanceof SdkError)) continue
    if (cause.code === SdkErrorCode.InvalidResult) return 'it sent a reply that is not valid MCP'
    if (cause.code === SdkErrorCode.RequestTimeout) return 'it did not answer in time'
    if (cause.code === SdkErrorCode.ConnectionClosed) return why ?? 'it ended the connection'
  }
  if (why !== undefined) return why
  const code = found.map(codeOf).find((name) => name !== undefined)
  return code === undefined ? short(messageOf(found.at(-1))) : `it cannot be reached (${code})`
}

/** Errors of connections that were never established. */
const unconnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
/** Errors of the client after the request was sent: the answer is missing or invalid. */
const afterSending: readonly string[] = [SdkErrorCode.ConnectionClosed, SdkErrorCode.InvalidResult, SdkErrorCode.RequestTimeout]

/** Whether a server may have carried out a request although its answer is lost. */
export function mayHaveRun(error: unknown): boolean {
  return causes(error).some((cause) => {
    if (cause instanceof SdkHttpError) return cause.status !== undefined && cause.status >= 500
    if (cause instanceof SdkError) return afterSending.includes(cause.code)
    const code = codeOf(cause)
    return code !== undefined && !unconnected.has(code)
  })
}

function ofStatus(status: number): string {
  const advice = status === 401 || status === 403 ? ': it needs a valid token' : ''
  return `it answered with status ${status}${advice}`
}

function causes(error: unknown): readonly unknown[] {
  const found: unknown[] = []
  for (let next = error; next !== undefined && found.length < 5; next = next instanceof Error ? next.cause : undefined)
    found.push(next)
  return found
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^(E[A-Z]+|UND_\w+)$/.test(code) ? code : undefined
}

function short(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}

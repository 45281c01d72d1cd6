import type { FastifyRequest } from 'fastify'
import { type AppError, messageOf } from '../../contract/errors.ts'

/**
 * Logs a failure at its code's level, with the code that the client sees. Messages of callers' errors may quote the request and are left
 * out; only unexpected failures get a stack. A stopped request is skipped: its own line says who stopped it.
 */
export function logFailure(request: FastifyRequest, error: AppError, { what, code }: { what: string; code: string }): void {
  const { level, param, stopsRun } = error
  if (stopsRun) return
  const entry = { requestId: request.id, code, ...(param !== undefined && { param }) }
  switch (level) {
    case 'info':
      request.log.info(entry, what)
      break
    case 'warn':
      request.log.warn({ ...entry, ...reasonOf(error) }, what)
      break
    case 'error':
      // A failure of an upstream is not a mistake of this program: our own stack would say nothing.
      request.log.error(error.code === 'upstream-failed' ? { ...entry, ...reasonOf(error) } : { ...entry, err: error }, what)
      break
  }
}

/** The code in an encoded error: the one that clients look for, in the protocols that have one. */
export function wireCodeOf(body: unknown, error: AppError): string {
  const inner: unknown = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  const { code, type } = (typeof inner === 'object' && inner !== null ? inner : {}) as { code?: unknown; type?: unknown }
  return typeof code === 'string' ? code : typeof type === 'string' ? type : error.code
}

function reasonOf({ cause, message }: AppError): { readonly reason: string; readonly cause?: string } {
  const text = cause === undefined ? message : messageOf(cause)
  return { reason: message, ...(text !== message && { cause: text }) }
}

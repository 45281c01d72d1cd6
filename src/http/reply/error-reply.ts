import type { FastifyReply, FastifyRequest } from 'fastify'
import { given } from '../../base/json.ts'
import type { Dialect } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { formatPath } from '../../contract/field.ts'
import type { Principal } from '../../contract/principal.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { asCutBody } from '../body/cut-body.ts'
import { logFailure, wireCodeOf } from './failure-log.ts'

export type EncodeError = Dialect['encodeError']

/** Sends a failure in its route's protocol and logs it at its code's level. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toAppError(thrown).inWordsOf(formatPath)
  request.watch?.failed(error)
  request.sender?.onFailed?.(error.code)
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer')
  if (error.retryAfterMs !== undefined) reply.header('retry-after', toRetryAfterSeconds(error.retryAfterMs))
  // Otherwise the SDKs of OpenAI and Anthropic would retry, for hours.
  if (error.code === 'budget-exceeded') reply.header('x-should-retry', 'false')
  const { encodeErrorOf, encodeError } = request.routeOptions.config
  const encode = encodeErrorOf?.(request) ?? encodeError ?? encoderOf(request) ?? encodeOpenaiError
  const { status, headers, body } = request.absentReply ?? encode(shownTo(request.principal, error), request.id)
  logFailure(request, error, { what: 'request failed', code: wireCodeOf(body, error) })
  if (headers !== undefined) reply.headers(headers)
  reply.code(status).send(withDetail(request.originalUrl, body))
}

/** Below `/api`, and on tabbyAPI's own routes, errors also have FastAPI's `detail`: clients of Unsloth, KoboldAI and tabbyAPI read it. */
function withDetail(url: string, body: unknown): unknown {
  if (!hasDetail.test(url)) return body
  const { error } = body as { readonly error?: { readonly message?: unknown } }
  return typeof error?.message === 'string' ? { detail: error.message, ...(body as object) } : body
}

const hasDetail = /^\/(?:api\/|v1\/(?:auth|download|loras?|model|sampling|templates?|token)(?:[/?]|$))/

/** For unknown routes, the URL prefix decides the protocol. */
function encoderOf(request: FastifyRequest): EncodeError | undefined {
  const path = request.url.split('?', 1)[0] ?? ''
  const matching = request.server.dialects.flatMap(({ prefixes, encodeError }) =>
    prefixes.filter((prefix) => path === prefix || path.startsWith(`${prefix}/`)).map((prefix) => ({ prefix, encodeError })),
  )
  return matching.sort((a, b) => b.prefix.length - a.prefix.length)[0]?.encodeError
}

/** This server's failures name its files; only operators see their folders. The log contains them. */
export function shownTo(principal: Principal | undefined, error: AppError): AppError {
  if (error.level === 'info' || principal?.scopes.has('admin') === true) return error
  const shown = hidePaths(error.template)
  if (shown === error.template) return error
  const { code, param, at, retryAfterMs, overflow } = error
  return new AppError(code, shown, {
    ...given({ param, at, retryAfterMs, overflow }),
    cause: error,
  })
}

/** Whole seconds, at least 1: retrying late is better than too early. */
function toRetryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** Maps Fastify's failures to our codes; other foreign errors become `internal`. */
function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError || !(thrown instanceof Error)) return AppError.from(thrown)
  const { statusCode } = thrown as { statusCode?: unknown }
  const cut = asCutBody(thrown)
  if (cut !== undefined) return cut
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AppError('invalid-request', `the request is not valid: ${thrown.message}`, { cause: thrown })
  }
  return AppError.from(thrown)
}

/** An absolute path in a text, of Unix or Windows, excluding URLs and routes; its last part is a group. */
const absolutePath = /(?<![\w:/.~-])(?!\/v1\/)(?:~?\/|[A-Za-z]:[\\/])(?:[^\s'"`,;:()<>|/\\]+[\\/])+([^\s'"`,;:()<>|/\\]+)/g

/** A message without the folders of this machine; file names stay. */
export function hidePaths(message: string): string {
  return message.replace(absolutePath, '…/$1')
}

import { codeOf, networkReason } from '../../../canonical/failure-reason.ts'
import { parseLimits, readError, type SaidError, shortened } from './error-message.ts'
import { withoutSecrets } from './secrets.ts'
import { templateRefusal } from './template-refusal.ts'
import { UpstreamError } from './upstream-error.ts'
import { parseJson } from './whole-json.ts'

/** A connection that failed before anything was received. */
export function connectionFailed(cause: unknown, host: string): UpstreamError {
  const code = codeOf(cause)
  const isRefused = code !== undefined && refusals.has(code)
  return new UpstreamError(
    { type: 'connection', isRefused },
    `the server at ${host} cannot be reached: ${networkReason(cause)}`,
    { cause },
  )
}

/** Nothing listens there. An idle connection that the server closed just before our request is another case. */
const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

const breaks = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Whether an open connection broke before anything was received. */
export function isBroken(cause: unknown): boolean {
  return breaks.has(codeOf(cause) ?? '')
}

type FailedReply = {
  readonly status: number
  /** The body, or the error object in it. */
  readonly said: string | SaidError
  readonly retryAfter: string | readonly string[] | undefined
  /** The target of a redirect. */
  readonly location?: string | readonly string[] | undefined
  readonly host: string
  /** It came in a reply that had begun. */
  readonly isEvent?: true
}

/** A reply with an error status, in the upstream's own words if it has any. */
export function statusFailed(reply: FailedReply): UpstreamError {
  const { status, said: given, retryAfter, location, host, isEvent } = withTemplateRefusal(reply)
  const isRedirect = status >= 300 && status < 400
  const { message, isTooLong, param, code } = typeof given === 'string' ? errorIn(given) : given
  const said = isRedirect ? `it redirects to ${withoutQuery(location)}: set the model's url to that` : message
  const header = typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0]
  const retryAfterMs = header === undefined ? undefined : parseRetryAfter(header, Date.now())
  const quoted = said === '' ? `status ${status}` : said
  const isRefusal = status === 400 || status === 413 || status === 422
  const limits = isRefusal ? parseLimits(said) : {}
  const lacksRoute = isRouteMissing(status, said, code)
  const details = {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...limits,
    ...(isRefusal && isTooLong && { isTooLong }),
    ...(isRefusal && param !== undefined && { param }),
    ...(code !== undefined && { code }),
    ...(isEvent && { isEvent }),
    ...(lacksRoute && { lacksRoute }),
  }
  const words = lacksRoute ? `the server at ${host} does not offer this: ${quoted}` : messageFor(status, quoted, host)
  return new UpstreamError({ type: 'status', status, ...details }, words)
}

/**
 * If a template refuses a conversation, the caller is at fault, even if the server reports a fault of its own: clients would repeat the
 * request.
 */
function withTemplateRefusal(reply: FailedReply): FailedReply {
  const { message } = typeof reply.said === 'string' ? errorIn(reply.said) : reply.said
  const refusal = templateRefusal(message)
  return refusal === undefined
    ? reply
    : { ...reply, status: 400, said: { message: refusal, isTooLong: false, code: 'template_failed' } }
}

/** A 404 that mentions a model is about the model: only that may be missing. */
function isRouteMissing(status: number, said: string, code: string | undefined): boolean {
  if (status === 405 || status === 501) return true
  return status === 404 && (code === 'unknown_url' || !/model|adapter|lora/i.test(`${said} ${code}`))
}

function messageFor(status: number, quoted: string, host: string): string {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return quoted
    case 401:
    case 403:
      return `the server at ${host} does not accept our key: check the model's apiKeyEnv`
    case 404:
      return `the server at ${host} does not have what was asked for: ${quoted}`
    case 408:
    case 504:
      return `the server behind this model was too slow: ${quoted}`
    case 425:
    case 429:
      return `the server behind this model has no room: ${quoted}`
    case 503:
    case 529:
      return `the server at ${host} is not available: ${quoted}`
  }
  if (status >= 300 && status < 400) return `the server at ${host} is not where its url says: ${quoted}`
  return `the server behind this model failed: ${quoted}`
}

function errorIn(text: string): SaidError {
  const trimmed = withoutSecrets(text.trim())
  // The title of an HTML page is enough.
  if (trimmed.startsWith('<')) {
    return { message: /<title>([^<]{1,200})<\/title>/i.exec(trimmed)?.[1]?.trim() ?? '', isTooLong: false }
  }
  try {
    return trimmed === '' ? { message: '', isTooLong: false } : readError(parseJson(trimmed))
  } catch {
    return { message: shortened(trimmed, 500), isTooLong: false }
  }
}

/** The query may hold secrets. */
function withoutQuery(location: FailedReply['location']): string {
  const url = typeof location === 'string' ? location : location?.[0]
  return url === undefined ? 'an address that it does not name' : url.replace(/[?#].*$/, '')
}

const dayMs = 86_400_000

/**
 * The value of a Retry-After header in milliseconds from now: seconds, or an HTTP date. Undefined for anything else. At most a day, to
 * bound the effect of a wrong value.
 */
export function parseRetryAfter(value: string, epochMs: number): number | undefined {
  const text = value.trim()
  // Fractions are not in the standard, but some servers send them.
  if (/^[0-9]+(\.[0-9]+)?$/.test(text)) return Math.min(dayMs, Math.ceil(Number(text) * 1000))
  // All three forms of an HTTP date begin with the name of a day; the oldest leaves out GMT.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return undefined
  const atMs = Date.parse(/gmt$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(atMs) ? undefined : Math.min(dayMs, Math.max(0, atMs - epochMs))
}

import { AppError, messageOf } from '../../../contract/errors.ts'
import { parseRetryAfter, type UpstreamFailure } from '../fleet/retry.ts'
import { errorMessage } from './error-message.ts'

const failures = new WeakMap<AppError, UpstreamFailure>()

/** Notes how the upstream failed beside the error that the caller sees. */
export function withFailure(error: AppError, failure: UpstreamFailure): AppError {
  failures.set(error, failure)
  return error
}

/** How the upstream failed, if that is what the error is about. */
export function failureOf(error: unknown): UpstreamFailure | undefined {
  return error instanceof AppError ? failures.get(error) : undefined
}

type Refusal = {
  readonly status: number
  /** The body. */
  readonly text: string
  readonly retryAfter: string | readonly string[] | undefined
  /** Where a redirect leads. */
  readonly location?: string | readonly string[] | undefined
  readonly host: string
}

/** A server that was not heard. */
export function unreachable(cause: unknown, host: string): AppError {
  const code = codeOf(cause)
  // What Node says when a name has several addresses is nothing.
  const why = messageOf(cause) === '' ? (code ?? 'no reason given') : messageOf(cause)
  const error = new AppError('model-unavailable', `the server at ${host} cannot be reached: ${why}`, { cause })
  return withFailure(error, { type: 'connection', isRefused: code !== undefined && refusals.has(code) })
}

/** The server is not there at all, unlike one that closed an idle connection under our request. */
const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}

/** What an upstream's status means to our caller, in the upstream's own words where it has any. */
export function failedStatus({ status, text, retryAfter, location, host }: Refusal): AppError {
  const said = status >= 300 && status < 400 ? `it redirects to ${placeOf(location)}: name that place` : sayingOf(text)
  const header = typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0]
  const retryAfterMs = header === undefined ? undefined : parseRetryAfter(header, Date.now())
  const known = retryAfterMs === undefined ? {} : { retryAfterMs }
  return withFailure(toError(said, { status, host, ...known }), { type: 'status', status, ...known })
}

type Where = { readonly status: number; readonly host: string; readonly retryAfterMs?: number }

function toError(said: string, { status, host, ...retry }: Where): AppError {
  const quoted = said === '' ? `status ${status}` : said
  if (status === 400 || status === 422) return overflowOf(said) ?? new AppError('invalid-request', quoted)
  if (status === 413) return overflowOf(said) ?? new AppError('body-too-large', quoted)
  if (status === 401 || status === 403) {
    return new AppError('model-unavailable', `the server at ${host} does not accept our key: check the model's apiKeyEnv`)
  }
  if (status >= 300 && status < 400) {
    return new AppError('model-unavailable', `the server at ${host} is not where its url says: ${quoted}`)
  }
  if (status === 404)
    return new AppError('model-unavailable', `the server at ${host} does not have what was asked for: ${quoted}`)
  if (status === 408 || status === 425 || status === 429) {
    return new AppError('queue-full', `the server behind this model has no room: ${quoted}`, retry)
  }
  if (status === 503) return new AppError('model-unavailable', `the server at ${host} is not available: ${quoted}`, retry)
  return new AppError('engine-failed', `the server behind this model failed: ${quoted}`)
}

function sayingOf(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  // A page is for people who see it rendered.
  if (trimmed.startsWith('<')) return /<title>([^<]{1,200})<\/title>/i.exec(trimmed)?.[1]?.trim() ?? ''
  try {
    return errorMessage(JSON.parse(trimmed))
  } catch {
    return trimmed.length > 500 ? `${trimmed.slice(0, 500)}…` : trimmed
  }
}

/** Without its query, which may hold secrets. */
function placeOf(location: Refusal['location']): string {
  const place = typeof location === 'string' ? location : location?.[0]
  return place === undefined ? 'another place, which it does not name' : place.replace(/[?#].*$/, '')
}

/** Those messages are short, and other ones may quote at length what a caller made up. */
const longestOverflow = 2000
/** vLLM's, SGLang's, llama-server's and OpenAI's ways of saying that a request is too long. */
const overflows: readonly RegExp[] = [
  // Of several numbers, the first that is not said to be of the output.
  /maximum context length is (?<limit>\d{1,9}) tokens\b.{0,300}?\b(?<asked>\d{1,9})(?: input)? tokens/is,
  /request \((?<asked>\d{1,9}) tokens\) exceeds the available context size \((?<limit>\d{1,9}) tokens\)/i,
  /\b(?<asked>\d{1,9}) tokens\D* (?:is|are) longer than the model's context length \(?(?<limit>\d{1,9})/i,
  /input \((?<asked>\d{1,9}) tokens\)\D*context length \((?<limit>\d{1,9})/i,
]

function overflowOf(said: string): AppError | undefined {
  const start = said.slice(0, longestOverflow)
  for (const pattern of overflows) {
    const { limit, asked } = pattern.exec(start)?.groups ?? {}
    if (limit === undefined || asked === undefined) continue
    return new AppError('context-length-exceeded', said, {
      overflow: { inputTokens: Number(asked), contextLength: Number(limit) },
    })
  }
  return undefined
}

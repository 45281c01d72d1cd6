import { AppError } from '../../core/errors.ts'
import { parseRetryAfter, type UpstreamFailure } from './retry.ts'
import { errorMessage } from './wire-reply.ts'

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
  readonly host: string
}

/** What an upstream's status means to our caller, in the upstream's own words where it has any. */
export function failedStatus({ status, text, retryAfter, host }: Refusal): AppError {
  const said = sayingOf(text)
  const header = typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0]
  const retryAfterMs = header === undefined ? undefined : parseRetryAfter(header, Date.now())
  const known = retryAfterMs === undefined ? {} : { retryAfterMs }
  return withFailure(toError(said, { status, host, ...known }), { type: 'status', status, ...known })
}

type Where = { readonly status: number; readonly host: string; readonly retryAfterMs?: number }

function toError(said: string, { status, host, ...retry }: Where): AppError {
  const quoted = said === '' ? `status ${status}` : said
  if (status === 400 || status === 413 || status === 422) return overflowOf(said) ?? new AppError('invalid-request', quoted)
  if (status === 401 || status === 403) {
    return new AppError('model-unavailable', `the server at ${host} does not accept our key: check the model's apiKeyEnv`)
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
  try {
    return errorMessage(JSON.parse(trimmed))
  } catch {
    return trimmed.length > 500 ? `${trimmed.slice(0, 500)}…` : trimmed
  }
}

/** vLLM's, SGLang's, llama-server's and OpenAI's ways of saying that a request is too long. */
const overflows: readonly RegExp[] = [
  /maximum context length is (?<limit>\d+) tokens\D+(?<asked>\d+) tokens/i,
  /request \((?<asked>\d+) tokens\) exceeds the available context size \((?<limit>\d+) tokens\)/i,
  /(?<asked>\d+) tokens\D* (?:is|are) longer than the model's context length \(?(?<limit>\d+)/i,
  /input \((?<asked>\d+) tokens\)\D*context length \((?<limit>\d+)/i,
]

function overflowOf(said: string): AppError | undefined {
  for (const pattern of overflows) {
    const { limit, asked } = pattern.exec(said)?.groups ?? {}
    if (limit === undefined || asked === undefined) continue
    return new AppError('context-length-exceeded', said, {
      overflow: { inputTokens: Number(asked), contextLength: Number(limit) },
    })
  }
  return undefined
}

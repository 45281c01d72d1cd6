import { readError } from './error-message.ts'
import { statusFailed } from './failed-request.ts'
import { asObject, asText, type Loose } from './loose-json.ts'
import type { UpstreamError } from './upstream-error.ts'

/** Converts an error inside a reply to that of a status. Most servers give a number, others a word. */
export function reportedError(error: unknown): UpstreamError {
  const object = innermost(error)
  const code = Number(object?.code ?? object?.status ?? object?.status_code)
  const words = `${asText(object?.code)} ${asText(object?.type)}`
  const status = Number.isInteger(code) && code >= 400 && code < 600 ? code : statusOfWords(words)
  const said = readError(error)
  return statusFailed({ status, said, retryAfter: undefined, host: 'its address', isEvent: true })
}

/** OpenAI's and Anthropic's error types. */
function statusOfWords(words: string): number {
  if (/rate_limit|insufficient_quota|too_?many_?requests/i.test(words)) return 429
  if (/overloaded|service_unavailable/i.test(words)) return 503
  if (/authentication|permission/i.test(words)) return 401
  if (/timeout/i.test(words)) return 504
  if (/not_found/i.test(words)) return 404
  if (/too_large/i.test(words)) return 413
  return /invalid_(request|prompt|image)|bad_?request|context_length_exceeded/i.test(words) ? 400 : 500
}

/** Anthropic's stream has the whole error envelope in an event. */
function innermost(error: unknown): Loose | undefined {
  const object = asObject(error)
  return asObject(object?.error) ?? object
}

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ErrorCode } from '../../contract/errors.ts'

const statuses: Readonly<Record<ErrorCode, number>> = {
  'invalid-request': 400,
  'invalid-json': 400,
  'unsupported-field': 400,
  'context-length-exceeded': 400,
  'template-failed': 400,
  unauthorized: 401,
  forbidden: 403,
  'host-not-allowed': 403,
  'origin-not-allowed': 403,
  'route-not-found': 404,
  'model-not-found': 404,
  'not-found': 404,
  'previous-response-not-found': 404,
  'method-not-allowed': 405,
  'request-conflict': 409,
  'conversation-locked': 409,
  'connection-limit-reached': 400,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'queue-full': 429,
  'queue-timeout': 503,
  'first-token-timeout': 504,
  'stall-timeout': 504,
  'rate-limit-exceeded': 429,
  cancelled: 499,
  internal: 500,
  'engine-failed': 500,
  'upstream-failed': 502,
  'upstream-timeout': 504,
  'invalid-output': 502,
  overloaded: 503,
  'model-unavailable': 503,
  'store-unavailable': 503,
  'shutting-down': 503,
}

/** Why a request failed: a text, or the places of the body that were wrong, as FastAPI lists them. */
type Detail =
  | string
  | { readonly errors: readonly { readonly loc: readonly (string | number)[]; readonly msg: string; readonly type: string }[] }

/** Encodes an error in llama-stack's envelope. */
export function encodeStackError(
  error: AppError,
): ErrorReply & { readonly body: { readonly error: { readonly detail: Detail } } } {
  return { status: statuses[error.code], body: { error: { detail: detailOf(error) } } }
}

/** The error as a frame of a stream, where clients read `message`. */
export function encodeStreamError(error: AppError): unknown {
  return { error: { detail: detailOf(error), message: error.message } }
}

function detailOf({ code, param, message }: AppError): Detail {
  if (param === undefined) return message
  return { errors: [{ loc: stepsOf(param), msg: message, type: code.replaceAll('-', '_') }] }
}

/** A path such as `messages[0].content` in steps. */
function stepsOf(param: string): readonly (string | number)[] {
  return (param.match(/[^.[\]]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

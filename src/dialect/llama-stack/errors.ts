import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { errorStatuses } from '../wire/error-statuses.ts'

/** Why a request failed: a text, or the places of the body that were wrong, as FastAPI lists them. */
type Detail =
  | string
  | { readonly errors: readonly { readonly loc: readonly (string | number)[]; readonly msg: string; readonly type: string }[] }

/** Encodes an error in llama-stack's envelope. */
export function encodeStackError(
  error: AppError,
): ErrorReply & { readonly body: { readonly error: { readonly detail: Detail } } } {
  return { status: errorStatuses[error.code], body: { error: { detail: detailOf(error) } } }
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

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { errorStatuses } from '../wire/error-statuses.ts'
import type { StackError } from './replies.ts'

export function encodeStackError(error: AppError): ErrorReply & { readonly body: StackError } {
  return { status: errorStatuses[error.code], body: { error: { detail: detailOf(error) } } }
}

/** The error as a frame of a stream, where clients read `message`. */
export function encodeStreamError(error: AppError): StackError & { readonly error: { readonly message: string } } {
  return { error: { detail: detailOf(error), message: error.message } }
}

function detailOf({ code, param, message }: AppError): StackError['error']['detail'] {
  if (param === undefined) return message
  return { errors: [{ loc: stepsOf(param), msg: message, type: code.replaceAll('-', '_') }] }
}

/** A path such as `messages[0].content` in steps. */
function stepsOf(param: string): readonly (string | number)[] {
  return (param.match(/[^.[\]]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'

/** Its clients show `detail.msg`. */
export function encodeKoboldError(error: AppError): ErrorReply {
  const { status, headers, body } = encodeOpenaiError(error)
  const { message, code } = (body as { readonly error: { readonly message: string; readonly code: string | null } }).error
  return { status, ...(headers !== undefined && { headers }), body: { detail: { msg: message, type: code ?? 'error' } } }
}

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { KoboldError } from './replies.ts'

/** Its clients show `detail.msg`. */
export function encodeKoboldError(error: AppError): ErrorReply & { readonly body: KoboldError } {
  const { status, headers, body } = encodeOpenaiError(error)
  const { message, code } = body.error
  return { status, ...(headers !== undefined && { headers }), body: { detail: { msg: message, type: code ?? 'error' } } }
}

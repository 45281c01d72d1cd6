import type { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../openai/errors.ts'
import type { ResponseEvent } from './encoder.ts'

/**
 * An error without a response: in the form of the stream's `error` event and, for sockets, with the HTTP status and envelope of a reply.
 */
export function encodeErrorEvent(error: AppError, sequenceNumber: number): ResponseEvent {
  const { status, body } = encodeOpenaiError(error)
  const { code, message, param } = body.error
  return { type: 'error', sequence_number: sequenceNumber, code, message, param, status, error: body.error }
}

import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError, ErrorCode } from '../../contract/errors.ts'
import { errorStatuses } from '../wire/error-statuses.ts'
import type { LmStudioError } from './replies.ts'

/** Failures of the caller besides those of a status of 4xx that have a type of their own. */
const types: Partial<Readonly<Record<ErrorCode, string>>> = {
  'model-not-found': 'model_not_found',
  // The routes of this protocol have ids of downloads only.
  'not-found': 'job_not_found',
}

export function encodeLmStudioError(error: AppError): ErrorReply & { readonly body: LmStudioError } {
  const { code, message, param } = error
  const status = errorStatuses[code]
  const type = types[code] ?? (status < 500 ? 'invalid_request' : 'internal_error')
  const isMissing = param !== undefined && message.startsWith(`${param} is missing`)
  return {
    status,
    body: {
      error: {
        type,
        message,
        code: isMissing ? 'missing_required_parameter' : code.replaceAll('-', '_'),
        ...(param !== undefined && { param }),
      },
    },
  }
}

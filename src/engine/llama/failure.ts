import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { Failure } from './channel/ipc.ts'

/** The worker's failure, as the error that it was in the worker. */
export function decodeFailure({ code, message, ...options }: Failure): AppError {
  return new AppError(code, message, options)
}

export function healsInVain(): AppError {
  const message = `${field('sampling', 'healsTokens')} and a constraint of the output (or tools) both decide how it begins: send one of them`
  return new AppError('invalid-request', message, { at: ['sampling', 'healsTokens'] })
}

/** The output would be parsed in the format of the earlier template. */
export function templateSwitched(): AppError {
  return new AppError('request-conflict', "the model's chat template was switched while this request waited; send it again")
}

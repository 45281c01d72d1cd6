import { expect } from 'vitest'
import { AppError } from '../../src/contract/errors.ts'

/** The failure that this throws. */
export function failureOfCall(call: () => unknown): AppError {
  try {
    call()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  return expect.unreachable('it should have failed')
}

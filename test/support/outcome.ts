import { AppError } from '../../src/contract/errors.ts'

/** What a call comes to: its result, or what its caller is told of a failure. */
export function outcomeOf(call: () => unknown): unknown {
  try {
    return { passed: call() }
  } catch (error) {
    const { code, param, message } = AppError.from(error)
    return { code, param, message }
  }
}

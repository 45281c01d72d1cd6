import { AppError } from '../../contract/errors.ts'
import { preview } from './preview.ts'

const maxFaultChars = 900

/** `invalid-request` at a field of the request. */
export function invalid(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}

/** The same for a value of a query that is not the expected one. */
export function invalidQuery(param: string, expected: string, sent: unknown): AppError {
  return invalid(param, `${param}: expected ${expected}, got ${preview(sent)}`)
}

/** All faults of a body in one message, short enough to read. */
export function joinFaults([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const [index, message] of others.entries()) {
    if (text.length + message.length > maxFaultChars) return `${text}; and ${others.length - index} more`
    text += `; ${message}`
  }
  return text
}

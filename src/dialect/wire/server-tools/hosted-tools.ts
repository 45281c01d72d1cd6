import { AppError } from '../../../contract/errors.ts'
import { preview } from '../preview.ts'

/** The failure for a tool that the protocol's vendor runs, and that the caller relies on. */
export function notRunHere(type: string, path: string): AppError {
  const param = `${path}.type`
  const message = `${param} ${preview(type)} is a tool that is not run here: leave it out, or declare a function that you run`
  return new AppError('unsupported-field', message, { param })
}

/** The name for a tool that is left out because agents declare it by habit: its place and its type. */
export function leftOut(type: string, path: string): string {
  return `${path}.${type}`
}

import { asObject } from './loose-json.ts'

/** The message in an error object of any shape. */
export function errorMessage(error: unknown): string {
  const object = asObject(error)
  if (object === undefined) return typeof error === 'string' ? error : JSON.stringify(error)
  const inner = object.error ?? object.message ?? object.detail
  return inner === undefined ? JSON.stringify(error) : errorMessage(inner)
}

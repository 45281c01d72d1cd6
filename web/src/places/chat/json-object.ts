export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value of JSON is an object, not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

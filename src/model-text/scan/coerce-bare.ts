import { coerceText } from './json-value.ts'
import { allowedTypes, type Declared } from './schema-types.ts'

/** Whether a declaration allows only strings. */
export function isTextOnly(declared: Declared): boolean {
  const types = allowedTypes(declared)
  return types?.size === 1 && types.has('string')
}

/**
 * The JSON of a value that is written without quotes, as between XML tags. The declared type decides; if several are allowed, or none is
 * declared, valid JSON is read as JSON and everything else as a string.
 */
export function coerceBare(text: string, declared: Declared): string {
  if (isTextOnly(declared)) return JSON.stringify(text)
  const types = allowedTypes(declared)
  const guessed = types?.has('string') === false ? coerceText(text, undefined) : undefined
  return coerceText(text, types) ?? guessed ?? JSON.stringify(text)
}

import { coerceText } from './json-value.ts'
import { allowedTypes, type Declared } from './schema-types.ts'

/** Whether a text, and nothing else, is what a declaration allows. */
export function isTextOnly(declared: Declared): boolean {
  const types = allowedTypes(declared)
  return types?.size === 1 && types.has('string')
}

/**
 * The JSON for a value that was written without quotes of any kind, as between XML tags: what is declared decides; where
 * it leaves a choice, or nothing is declared, what reads as JSON is JSON, and the rest is text.
 */
export function coerceBare(text: string, declared: Declared): string {
  if (isTextOnly(declared)) return JSON.stringify(text)
  const types = allowedTypes(declared)
  const guessed = types?.has('string') === false ? coerceText(text, undefined) : undefined
  return coerceText(text, types) ?? guessed ?? JSON.stringify(text)
}

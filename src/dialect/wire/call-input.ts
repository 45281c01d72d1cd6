/**
 * The arguments of an earlier call as JSON text. None at all, as clients send for tools without parameters, are an empty object: absent,
 * null, an empty text, or the text `null`.
 */
export function callInput(given: string | object | null | undefined): string {
  if (typeof given === 'string') return /^\s*(null\s*)?$/.test(given) ? '{}' : given
  return JSON.stringify(given ?? {})
}

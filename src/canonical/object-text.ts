/**
 * Arguments of a call in a history as the JSON of an object: servers parse them, and refuse what a model wrote that is none. Such a text is
 * passed on inside of one.
 */
export function objectText(input: string): string {
  if (input === '') return '{}'
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return input
  } catch {
    // A call that was truncated, or never was JSON.
  }
  return JSON.stringify({ input })
}

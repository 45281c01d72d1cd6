/**
 * The arguments of an earlier call as the JSON of an object: servers parse them, and refuse anything else that a model wrote. Such a text
 * is wrapped in an object.
 */
export function objectText(input: string): string {
  if (input === '') return '{}'
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return input
  } catch {
    // The call was truncated, or never was JSON.
  }
  return JSON.stringify({ input })
}

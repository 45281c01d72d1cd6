const maxLength = 80
const maxDepth = 3
const maxItems = 8

/** A value as short JSON for an error message. Its depth is limited too: JSON.stringify overflows the stack on hostile nesting. */
export function preview(value: unknown): string {
  const text = write(value, 0)
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`
}

function write(value: unknown, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxLength))
  if (typeof value !== 'object' || value === null) return String(value)
  const isArray = Array.isArray(value)
  // Never lists all keys: there may be a million.
  const keys = firstKeys(value)
  if (keys.length === 0) return isArray ? '[]' : '{}'
  if (depth === maxDepth) return isArray ? '[…]' : '{…}'
  const items = keys.slice(0, maxItems).map((key) => {
    const item = write(Reflect.get(value, key), depth + 1)
    return isArray ? item : `${write(key, depth)}:${item}`
  })
  if (keys.length > maxItems) items.push('…')
  return isArray ? `[${items.join(',')}]` : `{${items.join(',')}}`
}

/** One more than are shown. */
function firstKeys(value: object): string[] {
  const keys: string[] = []
  for (const key in value) {
    if (keys.push(key) > maxItems) break
  }
  return keys
}

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
  const keys = Object.keys(value)
  if (keys.length === 0) return isArray ? '[]' : '{}'
  if (depth === maxDepth) return isArray ? '[…]' : '{…}'
  const entries = Object.entries(keys.length <= maxItems ? value : pickFirst(value, keys))
  const items = entries.map(([key, item]) => (isArray ? '' : `${write(key, depth)}:`) + write(item, depth + 1))
  if (keys.length > maxItems) items.push('…')
  return isArray ? `[${items.join(',')}]` : `{${items.join(',')}}`
}

function pickFirst(value: object, keys: readonly string[]): object {
  return Object.fromEntries(keys.slice(0, maxItems).map((key) => [key, Reflect.get(value, key)]))
}

/** Whether a value is an object with members: not null, and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The object that a JSON text is; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** The members that are not undefined, to spread into an object whose optional members must be absent instead. */
export function given<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members: Partial<T> = {}
  for (const name in record) if (record[name] !== undefined) members[name] = record[name]
  return members as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Where a string is inside data: keys and indexes. */
export type LeafPath = readonly (string | number)[]

/** The places of all strings of a value, in order; `keep` leaves fields out, by their name. */
export function leavesOf(value: unknown, keep: (name: string | number) => boolean = () => true, path: LeafPath = []): LeafPath[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return entries.flatMap(([key, item]) => (keep(key) ? leavesOf(item, keep, [...path, key]) : []))
}

/** The value with other strings at some places. */
export function withLeaves<T>(value: T, replaced: readonly (readonly [LeafPath, string])[]): T {
  const copy = structuredClone(value)
  for (const [path, text] of replaced) {
    let at = copy as Record<string | number, unknown>
    for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>
    at[path.at(-1) ?? ''] = text
  }
  return copy
}

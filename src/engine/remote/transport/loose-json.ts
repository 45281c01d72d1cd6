/** An object of which nothing is known. */
export type Loose = { readonly [key: string]: unknown }

/** An object that is no array. */
export function asObject(value: unknown): Loose | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : undefined
}

/** An array; an empty one for anything else. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A whole number from 0. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

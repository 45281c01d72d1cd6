import { isObject } from '../../../base/json.ts'

export type Loose = { readonly [key: string]: unknown }

/** An object, but not an array. */
export function asObject(value: unknown): Loose | undefined {
  return isObject(value) ? value : undefined
}

/** An array; empty for anything else. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** An integer of at least 0. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

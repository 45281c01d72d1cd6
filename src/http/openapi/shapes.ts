import { z } from 'zod'

// Short names for the schemas of replies, which are only described: nothing is validated with them here.
export const text = z.string()
export const number = z.number()
export const flag = z.boolean()
export const anything = z.unknown()
export const texts = z.array(text)
export const numbers = z.array(number)
export const anyObject = z.record(text, anything)
export const { object, array: list, enum: oneOf, literal: is, union: either } = z

/** Schemas that have names in the document, where others refer to them. */
export const names = new Map<z.ZodType, string>()

export function named<T extends z.ZodType>(name: string, schema: T): T {
  names.set(schema, name)
  return schema
}

import { z } from 'zod'

// Short names for the schemas of replies, which describe what encoders make, and type it: nothing is validated with them here.
export const text = z.string()
export const number = z.number()
export const flag = z.boolean()
export const anything = z.unknown()
export const texts = list(text)
export const numbers = list(number)
export const anyObject = z.record(text, anything)
export const { object, enum: oneOf, literal: is, union: either } = z

/** An encoder makes a list once, and nobody changes it. */
export function list<T extends z.ZodType>(item: T): z.ZodType<readonly z.output<T>[], readonly z.input<T>[]> {
  return z.array(item)
}

/** Schemas that have names in the document, where others refer to them. */
export const names = new Map<z.ZodType, string>()

export function named<T extends z.ZodType>(name: string, schema: T): T {
  names.set(schema, name)
  return schema
}

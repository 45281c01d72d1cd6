import { z } from 'zod'
import { didYouMean } from '../../registry/names/near-name.ts'

type OptionalKey<T> = { [Key in keyof T]-?: object extends Pick<T, Key> ? Key : never }[keyof T]
type Needed<T> = Omit<T, OptionalKey<T>>
type Optional<T> = Required<Pick<T, OptionalKey<T>>>
type Shape<T> = { readonly [Key in keyof T]: z.ZodType<T[Key]> }

/**
 * A schema of a canonical type: it has a schema for each field of the type, so that a new field cannot be left unchecked, and refuses other
 * fields.
 */
export function object<T extends object>(needed: Shape<Needed<T>>, optional: Shape<Optional<T>>): z.ZodType<T> {
  const absent = Object.entries<z.ZodType>(optional).map(([name, schema]) => [name, schema.exactOptional()])
  const shape: z.ZodRawShape = { ...needed, ...Object.fromEntries(absent) }
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code !== 'unrecognized_keys') return undefined
    const [name] = issue.keys
    return `no field '${name}'${didYouMean(name, Object.keys(shape)).replace(/^; (.*)\?$/, ' ($1?)')}`
  }
  return z.strictObject(shape, { error }) as unknown as z.ZodType<T>
}

/** Objects that a field tells apart. */
export function oneOf<T extends object>(field: keyof T & string, schemas: readonly z.ZodType<T>[]): z.ZodType<T> {
  return z.discriminatedUnion(field, schemas as never) as unknown as z.ZodType<T>
}

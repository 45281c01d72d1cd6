import { z } from 'zod'
import { validate } from './validate.ts'

type LooseObject = z.ZodObject<z.core.$ZodShape, z.core.$loose>
type FieldRule = { readonly schema: z.core.$ZodType; readonly isPlain: PlainCheck | undefined }

/** Whether a value is one that the field's schema accepts and leaves as it is. False says nothing: the schema decides. */
export type PlainCheck = (value: unknown) => boolean

/**
 * `validate` for a body of many optional fields, at a cost that grows with the fields that it has. Same result and same errors,
 * the order of the result's keys apart. The schema has no rule about several fields at once, and no field a default.
 */
export function createFieldwise<S extends LooseObject>(
  schema: S,
  plainChecks: Readonly<Record<string, PlainCheck>>,
): (body: unknown) => z.output<S> {
  if ((schema.def.checks ?? []).length > 0) throw new Error('a schema with rules about the whole body cannot be split')
  const rules = new Map(
    Object.entries(schema.shape).map(([name, field]): [string, FieldRule] => {
      return [name, { schema: field, isPlain: Object.hasOwn(plainChecks, name) ? plainChecks[name] : undefined }]
    }),
  )
  const required = Object.keys(schema.shape).filter((name) => !(schema.shape[name] instanceof z.ZodOptional))
  return (body) => (checkFields(body, rules, required) as z.output<S> | undefined) ?? validate(schema, body)
}

/** Undefined where the schema has to look at the body whole, if only for its words about what is wrong. */
function checkFields(body: unknown, rules: ReadonlyMap<string, FieldRule>, required: readonly string[]): object | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined
  const given = body as Readonly<Record<string, unknown>>
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(given)) {
    // The schema leaves it out.
    if (name === '__proto__') return undefined
    const value = given[name]
    const rule = rules.get(name)
    if (rule === undefined || rule.isPlain?.(value) === true) continue
    const parsed = z.safeParse(rule.schema, value)
    if (!parsed.success) return undefined
    if (parsed.data === value) continue
    changed ??= {}
    changed[name] = parsed.data
  }
  for (const name of required) if (!Object.hasOwn(given, name)) return undefined
  return changed === undefined ? given : { ...given, ...changed }
}

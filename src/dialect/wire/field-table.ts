import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../contract/errors.ts'
import { preview } from './preview.ts'

/**
 * How a dialect treats one field of its requests; the name of a nested field is its path.
 * `used`: it changes the reply, or how it can be cancelled. `informational`: accepted; no generated token depends on it. `refused`: a 400 that names it,
 * unless the value is one of `accepts`, which mean the same as leaving it out.
 */
export type Field = {
  readonly name: string
  /** Other spellings of the same field. */
  readonly aliases?: readonly string[]
  readonly note: string
} & ({ readonly treatment: 'used' | 'informational' } | { readonly treatment: 'refused'; readonly accepts?: readonly unknown[] })

/** Every spelling of a field, its own name first. */
export function spellings(field: Field): readonly string[] {
  return [field.name, ...(field.aliases ?? [])]
}

/** A table's fields by spelling, made once per table. */
export type FieldIndex = ReadonlyMap<string, Field>

export function indexFields(fields: readonly Field[]): FieldIndex {
  return new Map(fields.flatMap((field) => spellings(field).map((name) => [name, field] as const)))
}

/**
 * Throws `unsupported-field` for the first field of the body that the table refuses. Returns the unknown keys whose value is not
 * null.
 */
export function checkFields(index: FieldIndex, body: object): string[] {
  const ignored: string[] = []
  for (const name of Object.keys(body)) {
    const field = index.get(name)
    if (field !== undefined) refuseValue(field, name, Reflect.get(body, name))
    else if (Reflect.get(body, name) !== null) ignored.push(name)
  }
  return ignored
}

/** Throws `unsupported-field` when the field is refused with this value; `param` is the path of the value. */
export function refuseValue(field: Field, param: string, value: unknown): void {
  if (field.treatment !== 'refused' || value === null) return
  const accepts = field.accepts ?? []
  if (accepts.some((accepted) => isDeepStrictEqual(accepted, dropNulls(value)))) return
  const remedy = accepts.length === 0 ? 'leave it out' : `leave it out or send ${accepts.map(preview).join(' or ')}`
  throw new AppError('unsupported-field', `${param} ${preview(value)} is not supported (${field.note}): ${remedy}`, { param })
}

/** Some clients send null for every absent field of their types, also inside objects. */
function dropNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null))
}

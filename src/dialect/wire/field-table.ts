import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import { joinFaults } from './invalid.ts'
import { preview } from './preview.ts'

/**
 * How a dialect treats one field of its requests; the name of a nested field is its path.
 * `used`: it changes the reply, or how it can be cancelled. `informational`: accepted; no generated token depends on it. `refused`: a 400 that names it,
 * unless the value is one of `accepts`, or what `acceptsAlso` says, which mean the same as leaving it out.
 */
export type Field = {
  readonly name: string
  /** Other spellings of the same field. */
  readonly aliases?: readonly string[]
  readonly note: string
} & (
  | { readonly treatment: 'informational' }
  /** `ignores`: whether a value says more than can be honoured, so that the reply names the field as ignored. */
  | { readonly treatment: 'used'; ignores?(value: unknown, body: object): boolean }
  | { readonly treatment: 'refused'; readonly accepts?: readonly unknown[]; readonly acceptsAlso?: Condition }
)

type Row<T extends Field['treatment'], Name extends string> = Extract<Field, { readonly treatment: T }> & { readonly name: Name }
type Rest<T extends Field['treatment']> = Partial<Omit<Row<T, string>, 'name' | 'note' | 'treatment'>>

/** A row of a table: a field that changes the reply, or how it can be cancelled. */
export function used<const Name extends string>(name: Name, note: string, rest: Rest<'used'> = {}): Row<'used', Name> {
  return { name, note, treatment: 'used', ...rest }
}

/** A field that is accepted, and on which no generated token depends. */
export function informational<const Name extends string>(
  name: Name,
  note: string,
  rest: Rest<'informational'> = {},
): Row<'informational', Name> {
  return { name, note, treatment: 'informational', ...rest }
}

/** A field that is refused by its name, but for values that mean the same as leaving it out. */
export function refused<const Name extends string>(name: Name, note: string, rest: Rest<'refused'> = {}): Row<'refused', Name> {
  return { name, note, treatment: 'refused', ...rest }
}

/** Values that change nothing, in words and as a test; `body` is the object that the value stands in. */
type Condition = { readonly what: string; test(value: unknown, body: object): boolean }

/** The note of output limits. */
export const givesWay = 'gives way to what the context has room for'

export type Refusal = { readonly param: string; readonly message: string }

/** Every spelling of a field, its own name first. */
export function spellings(field: Field): readonly string[] {
  return [field.name, ...(field.aliases ?? [])]
}

/** A table's fields by spelling, made once per table. */
export type FieldIndex = ReadonlyMap<string, Field>

export function indexFields(fields: readonly Field[]): FieldIndex {
  return new Map(fields.flatMap((field) => spellings(field).map((name) => [name, field] as const)))
}

/** Throws `unsupported-field` that names every field of the body that the table refuses. Returns the unknown keys whose value is not null. */
export function checkFields(index: FieldIndex, body: object): string[] {
  const refused = refusals(index, body)
  if (refused.length > 0) throw unsupported(refused)
  return Object.keys(body).filter((name) => Reflect.get(body, name) !== null && isIgnored(index.get(name), name, body))
}

function isIgnored(field: Field | undefined, name: string, body: object): boolean {
  if (field === undefined) return true
  return field.treatment === 'used' && field.ignores?.(Reflect.get(body, name), body) === true
}

export function refusals(index: FieldIndex, body: object): readonly Refusal[] {
  const refused: Refusal[] = []
  for (const name of Object.keys(body)) {
    const field = index.get(name)
    if (field?.treatment !== 'refused') continue
    const refusal = refusalOf(field, name, { value: Reflect.get(body, name), body })
    if (refusal !== undefined) refused.push(refusal)
  }
  return refused
}

/** Throws `unsupported-field` when the field is refused with this value; `param` is the path of the value. */
export function refuseValue(field: Field, param: string, value: unknown): void {
  const refusal = refusalOf(field, param, { value, body: {} })
  if (refusal !== undefined) throw unsupported([refusal])
}

type FieldValue = { readonly value: unknown; readonly body: object }

function refusalOf(field: Field, param: string, { value, body }: FieldValue): Refusal | undefined {
  if (field.treatment !== 'refused' || value === null) return undefined
  const { accepts = [], acceptsAlso, note } = field
  if (accepts.some((accepted) => isDeepStrictEqual(accepted, dropNulls(value)))) return undefined
  if (acceptsAlso?.test(value, body) === true) return undefined
  const fine = [...accepts.map(preview), ...(acceptsAlso === undefined ? [] : [acceptsAlso.what])]
  const remedy = fine.length === 0 ? 'leave it out' : `leave it out or send ${fine.join(' or ')}`
  return { param, message: `${param} ${preview(value)} is not supported (${note}): ${remedy}` }
}

/** One error for all of them. */
export function unsupported(refused: readonly Refusal[]): AppError {
  const [first] = refused
  const message = joinFaults(refused.map((refusal) => refusal.message))
  return new AppError('unsupported-field', message, first === undefined ? {} : { param: first.param })
}

/** Some clients send null for every absent field of their types, also inside objects. */
function dropNulls(value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null))
}

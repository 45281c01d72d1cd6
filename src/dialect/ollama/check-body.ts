import { checkFields, type FieldIndex, indexFields, type Refusal, refusals, unsupported } from '../wire/field-table.ts'
import { optionFields } from './fields.ts'
import type { OptionsWire } from './options.ts'

const optionIndex = indexFields(optionFields)

type Body = { readonly options?: OptionsWire }
/** `also`: contradictions between fields. */
type Check = { readonly fields: FieldIndex; readonly also?: readonly Refusal[] }

/** Throws one error for everything that is refused in a body and its options. Returns the unknown names. */
export function checkBody(wire: Body, { fields, also = [] }: Check): readonly string[] {
  const options = wire.options ?? {}
  const inOptions = refusals(optionIndex, options).map(({ param, message }) => ({
    param: `options.${param}`,
    message: `options.${message}`,
  }))
  const refused = [...also, ...refusals(fields, wire), ...inOptions]
  if (refused.length > 0) throw unsupported(refused)
  return [...checkFields(fields, wire), ...checkFields(optionIndex, options).map((name) => `options.${name}`)]
}

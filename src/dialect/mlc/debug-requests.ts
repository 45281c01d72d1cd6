import { checkFields, type Field, indexFields, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'

/** The body of MLC-LLM's `POST /debug/…`. */
export const debugSchema = looseObject({ model: nonEmptyText.nullish() })

export const debugFields: readonly Field[] = [used('model', 'an id or an alias; absent: the default model')]
const index = indexFields(debugFields)

export function decodeDebug(body: unknown): { readonly model: string | undefined; readonly ignored: readonly string[] } {
  const wire = validate(debugSchema, body, index)
  return { model: wire.model ?? undefined, ignored: checkFields(index, wire) }
}

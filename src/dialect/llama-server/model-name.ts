import { checkFields, type Field, indexFields, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'

export const modelNameSchema = looseObject({ model: nonEmptyText })

/** The fields of llama-server's `POST /models/load` and `/models/unload`. */
export const modelNameFields: readonly Field[] = [used('model', 'an id or an alias, or the source of a model')]
const fieldIndex = indexFields(modelNameFields)

/** The model to load or unload. */
export function readModelName(body: unknown): { readonly name: string; readonly ignored: readonly string[] } {
  const wire = validate(modelNameSchema, body, fieldIndex)
  return { name: wire.model, ignored: checkFields(fieldIndex, wire) }
}

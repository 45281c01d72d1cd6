import { checkFields, indexFields } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'
import { drainFields } from './fields.ts'

export const drainSchema = looseObject({ model: nonEmptyText, url: nonEmptyText })
const index = indexFields(drainFields)

/** `POST /api/inference/replicas/drain` and `undrain`. Throws `invalid-request` with `param`. */
export function decodeDrain(body: unknown) {
  const { model, url, ...rest } = validate(drainSchema, body, index)
  return { model, url, ignored: checkFields(index, rest) }
}

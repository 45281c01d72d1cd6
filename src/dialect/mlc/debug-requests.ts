import { type Field, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'

/** The body of MLC-LLM's `POST /debug/…`. */
export const debugSchema = looseObject({ model: nonEmptyText.nullish() })

export const debugFields: readonly Field[] = [used('model', 'an id or an alias; absent: the default model')]
const readBody = bodyReader(debugSchema, debugFields)

export function decodeDebug(body: unknown): { readonly model: string | undefined; readonly ignored: readonly string[] } {
  const { wire, ignored } = readBody(body)
  return { model: wire.model ?? undefined, ignored }
}

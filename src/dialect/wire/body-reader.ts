import type { z } from 'zod'
import { checkFields, type Field, indexFields } from './field-table.ts'
import { validate } from './validate.ts'

type ReadBody<Wire> = { readonly wire: Wire; readonly ignored: string[] }

/**
 * Makes a reader of the bodies of a route. It throws as `validate` and `checkFields` do. `ignored`: the unknown fields, and what `inside`
 * finds in the objects of the body.
 */
export function bodyReader<S extends z.ZodType<object>>(
  schema: S,
  fields: readonly Field[],
  inside: (body: unknown) => readonly string[] = () => [],
): (body: unknown) => ReadBody<z.output<S>> {
  const index = indexFields(fields)
  return (body) => {
    const wire = validate(schema, body, index)
    return { wire, ignored: [...checkFields(index, wire), ...inside(body)] }
  }
}

import { type FieldIndex, refuseValue } from './field-table.ts'

/** More names than the header has room for. */
const maxReported = 1000

/** The keys that a schema defines. */
export type Keys = ReadonlySet<string>

/** The path of an object, with `[]` for every index, and the first of these indices. */
type JsonPath = { readonly path: string; readonly index?: number }

/**
 * Collects the unknown fields inside the objects of a body, as paths without indices, each once. `check` throws
 * `unsupported-field` for those that the table refuses.
 */
export type NestedCheck = {
  readonly ignored: ReadonlySet<string>
  check(object: object | null | undefined, known: Keys, at: JsonPath): void
}

export function createNestedCheck(refused: FieldIndex): NestedCheck {
  const ignored = new Set<string>()
  return {
    ignored,
    check(object, known, { path, index }) {
      if (object === undefined || object === null) return
      for (const name of Object.keys(object)) {
        if (known.has(name)) continue
        const value: unknown = Reflect.get(object, name)
        if (value === null) continue
        const fieldPath = `${path}.${name}`
        const field = refused.get(fieldPath)
        if (field !== undefined)
          refuseValue(field, index === undefined ? fieldPath : fieldPath.replace('[]', `[${index}]`), value)
        else if (ignored.size < maxReported) ignored.add(fieldPath)
      }
    },
  }
}

/** The keys of an object schema. */
export function keysOf(schema: { readonly shape: object }): Keys {
  return new Set(Object.keys(schema.shape))
}

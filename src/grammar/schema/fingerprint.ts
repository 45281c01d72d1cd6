import { isObject, keywordsOfSchema, type SchemaObject } from './schema-document.ts'

/** Keywords without effect on values: schemas that differ in these only have the same fingerprint. */
const annotations: ReadonlySet<string> = new Set(
  `$comment $defs $schema contentSchema default definitions deprecated description example examples readOnly title
  writeOnly`.split(/\s+/),
)
/** Keywords whose meaning depends on the document and the position in it. */
const positional: ReadonlySet<string> = new Set(
  '$anchor $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref id'.split(' '),
)

/**
 * A number for the meaning of a schema, equal across documents: tools repeat the same properties. Undefined for a schema whose meaning
 * depends on its document, because it contains a reference or the target of one.
 */
export type FingerprintOf = (schema: SchemaObject) => number | undefined

/** Fingerprints that can be compared with each other. Schemas must not change, nor nest more deeply than a document may. */
export function createFingerprints(): FingerprintOf {
  const numbers = new Map<string, number>()
  const known = new Map<SchemaObject, number | undefined>()

  const fingerprintOf = (schema: SchemaObject): number | undefined => {
    if (known.has(schema)) return known.get(schema)
    // A schema that contains itself gets no fingerprint.
    known.set(schema, undefined)
    const meaning = describe(schema)
    if (meaning === undefined) return undefined
    const text = JSON.stringify(meaning)
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    known.set(schema, number)
    return number
  }

  const describe = (schema: SchemaObject): readonly unknown[] | undefined => {
    const meaning: unknown[] = []
    for (const keyword of Object.keys(schema)) {
      if (positional.has(keyword)) return undefined
      if (annotations.has(keyword)) continue
      const value = schema[keyword]
      const part = describeKeyword(keyword, value)
      if (part === undefined) return undefined
      meaning.push(keyword, part)
    }
    return meaning
  }

  const describeKeyword = (keyword: string, value: unknown): unknown => {
    if (Array.isArray(value) && keywordsOfSchema.lists.has(keyword)) return describeAll(value)
    if (isObject(value) && keywordsOfSchema.maps.has(keyword)) {
      const names = Object.keys(value)
      const parts = describeAll(names.map((name) => value[name]))
      return parts === undefined ? undefined : [names, parts]
    }
    return keywordsOfSchema.single.has(keyword) ? describePart(value) : value
  }

  const describeAll = (parts: readonly unknown[]): readonly unknown[] | undefined => {
    const described = parts.map(describePart)
    return described.includes(undefined) ? undefined : described
  }

  /** Undefined for what is not a schema: it has to be refused at its own path. */
  const describePart = (part: unknown): number | boolean | undefined => {
    if (typeof part === 'boolean') return part
    return isObject(part) ? fingerprintOf(part) : undefined
  }

  return fingerprintOf
}

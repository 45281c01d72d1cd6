import { isObject, keywordsOfSchema, type SchemaObject } from './schema-document.ts'

/** Keywords that say nothing of values: what differs in them only is written alike. */
const annotations: ReadonlySet<string> = new Set(
  `$comment $defs $schema contentSchema default definitions deprecated description example examples readOnly title
  writeOnly`.split(/\s+/),
)
/** Their meaning depends on the document, and on the place in it. */
const placed: ReadonlySet<string> = new Set(
  '$anchor $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref id'.split(' '),
)

/**
 * A number for what a schema says, whatever document it stands in: tools have the same properties over and over. Undefined for
 * one that means nothing apart from its place, because something in it refers or is referred to.
 */
export type LikenessOf = (schema: SchemaObject) => number | undefined

/** Likenesses that can be compared with each other. Schemas must not be changed, nor nest more deeply than a document's may. */
export function createLikeness(): LikenessOf {
  const numbers = new Map<string, number>()
  const known = new Map<SchemaObject, number | undefined>()

  const likenessOf = (schema: SchemaObject): number | undefined => {
    if (known.has(schema)) return known.get(schema)
    // A schema that holds itself is never alike.
    known.set(schema, undefined)
    const saying = describe(schema)
    if (saying === undefined) return undefined
    const text = JSON.stringify(saying)
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    known.set(schema, number)
    return number
  }

  const describe = (schema: SchemaObject): readonly unknown[] | undefined => {
    const saying: unknown[] = []
    for (const keyword of Object.keys(schema)) {
      if (placed.has(keyword)) return undefined
      if (annotations.has(keyword)) continue
      const value = schema[keyword]
      const part = describeKeyword(keyword, value)
      if (part === undefined) return undefined
      saying.push(keyword, part)
    }
    return saying
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

  /** What is no schema is alike to nothing: it has to be refused where it stands. */
  const describePart = (part: unknown): number | boolean | undefined => {
    if (typeof part === 'boolean') return part
    return isObject(part) ? likenessOf(part) : undefined
  }

  return likenessOf
}

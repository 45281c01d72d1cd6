import type { Range } from './number-grammar.ts'
import type { Schema, SchemaPath } from './schema-document.ts'

/** JSON's types; integers are numbers with a condition. */
export type Kind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'
export const allKinds: readonly Kind[] = ['object', 'array', 'string', 'number', 'boolean', 'null']

/** A keyword that the grammar does not enforce. `kind`: it applies to values of that type only. */
export type Gap = { readonly keyword: string; readonly path: SchemaPath; readonly kind?: Kind }

type ArrayLayer = { readonly prefix: readonly Schema[]; readonly rest?: Schema }
export type PatternSchema = { readonly source: string; readonly schema: Schema; readonly path: SchemaPath }
export type ObjectLayer = {
  readonly properties: ReadonlyMap<string, Schema>
  readonly patterns: readonly PatternSchema[]
  readonly additional?: Schema
}

/**
 * All conditions on one value: the sum of one branch through `$ref`, `allOf`, `anyOf` … A layer is what one schema object says
 * of members; layers stay apart because `additionalProperties` and `items` refer to the keywords beside them.
 */
export type Facets = {
  readonly kinds: ReadonlySet<Kind>
  /** A `type` was given; otherwise the implied kinds are meant. */
  readonly typed: boolean
  /** The kinds that the keywords apply to: `minLength` implies strings. */
  readonly impliedKinds: ReadonlySet<Kind>
  readonly integer: boolean
  /** The only candidates, by `enum` or `const`. */
  readonly values?: readonly unknown[]
  readonly text: {
    readonly min: number
    readonly max?: number
    readonly patterns: readonly { readonly source: string; readonly path: SchemaPath }[]
    readonly formats: readonly { readonly name: string; readonly path: SchemaPath }[]
    /** Grammars of the whole text, in GBNF. */
    readonly grammars: readonly { readonly source: string; readonly path: SchemaPath }[]
  }
  readonly range: Range
  /** What numbers must be multiples of. */
  readonly multiples: readonly { readonly step: number; readonly path: SchemaPath }[]
  readonly array: {
    readonly layers: readonly ArrayLayer[]
    readonly min: number
    readonly max?: number
    readonly contains: readonly { readonly schema: Schema; readonly min: number }[]
  }
  readonly object: {
    readonly layers: readonly ObjectLayer[]
    readonly required: readonly string[]
    readonly names: readonly { readonly schema: Schema; readonly path: SchemaPath }[]
    readonly min: number
    readonly max?: number
    /** The schema that has `min`. */
    readonly minPath?: SchemaPath
  }
  /** The other branches of a `oneOf`: what is written must not satisfy them too. */
  readonly rivals: readonly { readonly path: SchemaPath; readonly branches: readonly Facets[] }[]
  readonly gaps: readonly Gap[]
}

/** No conditions. */
export const noFacets: Facets = {
  kinds: new Set(allKinds),
  typed: false,
  impliedKinds: new Set(),
  integer: false,
  text: { min: 0, patterns: [], formats: [], grammars: [] },
  range: {},
  multiples: [],
  array: { layers: [], min: 0, contains: [] },
  object: { layers: [], required: [], names: [], min: 0 },
  rivals: [],
  gaps: [],
}

/** The conditions of both. */
export function mergeFacets(a: Facets, b: Facets): Facets {
  if (a === noFacets) return b
  if (b === noFacets) return a
  return {
    kinds: b.kinds.size === allKinds.length ? a.kinds : new Set([...a.kinds].filter((kind) => b.kinds.has(kind))),
    typed: a.typed || b.typed,
    impliedKinds: new Set([...a.impliedKinds, ...b.impliedKinds]),
    integer: a.integer || b.integer,
    ...mergeValues(a.values, b.values),
    text: {
      min: Math.max(a.text.min, b.text.min),
      ...least(a.text.max, b.text.max),
      patterns: [...a.text.patterns, ...b.text.patterns],
      formats: [...a.text.formats, ...b.text.formats],
      grammars: [...a.text.grammars, ...b.text.grammars],
    },
    range: mergeRanges(a.range, b.range),
    multiples: [...a.multiples, ...b.multiples],
    array: {
      layers: [...a.array.layers, ...b.array.layers],
      min: Math.max(a.array.min, b.array.min),
      ...least(a.array.max, b.array.max),
      contains: [...a.array.contains, ...b.array.contains],
    },
    object: {
      layers: [...a.object.layers, ...b.object.layers],
      required: [...new Set([...a.object.required, ...b.object.required])],
      names: [...a.object.names, ...b.object.names],
      min: Math.max(a.object.min, b.object.min),
      ...least(a.object.max, b.object.max),
      ...minPath(a, b),
    },
    rivals: [...a.rivals, ...b.rivals],
    gaps: [...a.gaps, ...b.gaps],
  }
}

/** The kinds of value that are written. Without a `type`, the implied ones: a schema with `properties` means an object. */
export function kindsToWrite(facets: Facets): readonly Kind[] {
  const inferred = !facets.typed && facets.impliedKinds.size > 0
  return allKinds.filter((kind) => facets.kinds.has(kind) && (!inferred || facets.impliedKinds.has(kind)))
}

/**
 * Whether an object gets declared members only: when some are declared and nothing covers others. JSON Schema then allows any,
 * but a schema that lists properties means those.
 */
export function writesOnlyDeclared({ layers, required }: Facets['object']): boolean {
  const isOpen = layers.some((layer) => layer.additional !== undefined || layer.patterns.length > 0)
  return !isOpen && (required.length > 0 || layers.some((layer) => layer.properties.size > 0))
}

/** Whether two JSON values are equal, in any order of keys. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [Object.entries(a), b as Readonly<Record<string, unknown>>]
  return (
    left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && sameValue(value, right[key]))
  )
}

/** A string that is equal for two JSON values if `sameValue` is true of them. */
export function valueKey(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part) ? entriesInOrder(part) : part,
  )
}

/** In a fixed order, and wrapped, so that no list looks like an object. */
function entriesInOrder(object: object): unknown {
  return { o: Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)) }
}

export function kindOf(value: unknown): Kind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'object') return 'object'
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'number'
}

function mergeValues(a: readonly unknown[] | undefined, b: readonly unknown[] | undefined): Pick<Facets, 'values'> {
  if (a === undefined) return b === undefined ? {} : { values: b }
  if (b === undefined) return { values: a }
  const keys = new Set(b.map(valueKey))
  return { values: a.filter((one) => keys.has(valueKey(one))) }
}

function mergeRanges(a: Range, b: Range): Range {
  const min = [a.min, b.min].filter((bound) => bound !== undefined)
  const max = [a.max, b.max].filter((bound) => bound !== undefined)
  min.sort((x, y) => y.value - x.value || Number(y.exclusive) - Number(x.exclusive))
  max.sort((x, y) => x.value - y.value || Number(y.exclusive) - Number(x.exclusive))
  return { ...(min[0] === undefined ? {} : { min: min[0] }), ...(max[0] === undefined ? {} : { max: max[0] }) }
}

function least(a: number | undefined, b: number | undefined): { max?: number } {
  if (a === undefined) return b === undefined ? {} : { max: b }
  return { max: b === undefined ? a : Math.min(a, b) }
}

function minPath(a: Facets, b: Facets): { minPath?: SchemaPath } {
  const path = a.object.min >= b.object.min ? a.object.minPath : b.object.minPath
  return path === undefined ? {} : { minPath: path }
}

import { checkGbnf } from '../rules/check-gbnf.ts'
import { gbnfKeyword } from '../rules/gbnf-text.ts'
import { allKinds, type Facets, type Kind, noFacets, sameValue } from './facets.ts'
import { type Bound, isExact } from './number-grammar.ts'
import { isObject, isSchema, type Schema, type SchemaDocument, type SchemaObject, type SchemaPath } from './schema-document.ts'

/** The keywords that apply to one kind of value. */
const kindKeywords: Readonly<Record<Kind, readonly string[]>> = {
  object: `additionalProperties dependencies dependentRequired dependentSchemas maxProperties minProperties patternProperties
    properties propertyNames required unevaluatedProperties`.split(/\s+/),
  array:
    `additionalItems contains items maxContains maxItems minContains minItems prefixItems unevaluatedItems uniqueItems`.split(
      /\s+/,
    ),
  string: ['contentEncoding', 'contentMediaType', 'format', 'maxLength', 'minLength', 'pattern', gbnfKeyword],
  number: ['exclusiveMaximum', 'exclusiveMinimum', 'maximum', 'minimum', 'multipleOf'],
  boolean: [],
  null: [],
}
const kindOfKeyword: ReadonlyMap<string, Kind> = new Map(
  allKinds.flatMap((kind) => kindKeywords[kind].map((keyword) => [keyword, kind] as const)),
)
const kindsOfType: ReadonlyMap<unknown, ReadonlySet<Kind>> = new Map<unknown, ReadonlySet<Kind>>([
  ...allKinds.map((kind) => [kind, new Set([kind])] as const),
  ['integer', new Set<Kind>(['number'])],
])
const numberFormats = new Set(['int32', 'int64', 'float', 'double'])

/**
 * The facets of a schema object by itself, without what it refers to and combines. Throws `invalid-schema` for a keyword with a
 * value that JSON Schema does not allow.
 */
export function readFacets(document: SchemaDocument, schema: SchemaObject): Facets {
  return new FacetReader(document, schema).read()
}

class FacetReader {
  readonly #document: SchemaDocument
  readonly #schema: SchemaObject
  readonly #gaps: { keyword: string; path: SchemaPath; kind: Kind }[] = []

  constructor(document: SchemaDocument, schema: SchemaObject) {
    this.#document = document
    this.#schema = schema
  }

  get #path(): SchemaPath {
    return this.#document.pathOf(this.#schema)
  }

  read(): Facets {
    const { type, format } = this.#schema
    const kinds = kindsOfType.get(type)
    const types = kinds === undefined ? this.#types() : undefined
    const integer = type === 'integer' || (types?.includes('integer') === true && !types.includes('number'))
    const implied = this.#impliedKinds()
    const isNumberFormat = typeof format === 'string' && numberFormats.has(format)
    // Kinds without keywords are skipped: most schemas have a type, and at most one keyword beside it.
    return {
      kinds: kinds ?? (types === undefined ? noFacets.kinds : kindsOf(types)),
      typed: kinds !== undefined || types !== undefined,
      impliedKinds: isNumberFormat ? new Set<Kind>(['number']) : implied,
      integer: integer || this.#schema.multipleOf === 1,
      ...this.#values(),
      text: implied.has('string') ? this.#text() : noFacets.text,
      range: implied.has('number') || isNumberFormat ? this.#range() : noFacets.range,
      multiples: implied.has('number') ? this.#multiples() : noFacets.multiples,
      array: implied.has('array') ? this.#array() : noFacets.array,
      object: implied.has('object') ? this.#object() : noFacets.object,
      rivals: noFacets.rivals,
      gaps: this.#gaps,
    }
  }

  #types(): readonly string[] | undefined {
    const { type } = this.#schema
    if (type === undefined) return undefined
    const list = Array.isArray(type) ? type : [type]
    const known: readonly unknown[] = [...allKinds, 'integer']
    const wrong = list.find((each) => !known.includes(each))
    if (wrong !== undefined || list.length === 0) {
      throw this.#wrong('type', `must be one or several of ${known.join(', ')}, not ${JSON.stringify(wrong ?? type)}`)
    }
    return list
  }

  #impliedKinds(): ReadonlySet<Kind> {
    const kinds = new Set<Kind>()
    for (const keyword of Object.keys(this.#schema)) {
      const kind = kindOfKeyword.get(keyword)
      if (kind !== undefined) kinds.add(kind)
    }
    return kinds
  }

  #values(): Pick<Facets, 'values'> {
    const { enum: list } = this.#schema
    if (list !== undefined && !Array.isArray(list)) throw this.#wrong('enum', 'must be a list of values')
    const only = Object.hasOwn(this.#schema, 'const') ? [this.#schema.const] : undefined
    if (list === undefined) return only === undefined ? {} : { values: only }
    return { values: only === undefined ? list : only.filter((value) => list.some((each) => sameValue(each, value))) }
  }

  #text(): Facets['text'] {
    const pattern = this.#string('pattern')
    const format = this.#string('format')
    const grammar = this.#string(gbnfKeyword)
    if (grammar !== undefined) checkGbnf(grammar)
    return {
      min: this.#count('minLength') ?? 0,
      ...this.#max('maxLength'),
      patterns: pattern === undefined ? [] : [{ source: pattern, path: this.#path }],
      formats: format === undefined || numberFormats.has(format) ? [] : [{ name: format, path: this.#path }],
      grammars: grammar === undefined ? [] : [{ source: grammar, path: this.#path }],
    }
  }

  #multiples(): Facets['multiples'] {
    const step = this.#number('multipleOf')
    if (step !== undefined && step <= 0) throw this.#wrong('multipleOf', `must be above 0, not ${step}`)
    return step === undefined || step === 1 ? [] : [{ step, path: this.#path }]
  }

  #range(): Facets['range'] {
    const min = this.#bound('minimum', 'exclusiveMinimum', 1)
    const max = this.#bound('maximum', 'exclusiveMaximum', -1)
    if (this.#schema.format === 'int32') {
      const [low, high] = [
        { value: -(2 ** 31), exclusive: false },
        { value: 2 ** 31 - 1, exclusive: false },
      ]
      return {
        min: min === undefined || min.value < low.value ? low : min,
        max: max === undefined || max.value > high.value ? high : max,
      }
    }
    return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
  }

  /** The tighter of the two bounds; draft 4 wrote `exclusiveMinimum: true` beside `minimum`. */
  #bound(keyword: string, exclusiveKeyword: string, direction: 1 | -1): Bound | undefined {
    const flag = this.#schema[exclusiveKeyword]
    const plain = this.#number(keyword)
    const strict = typeof flag === 'boolean' ? undefined : this.#number(exclusiveKeyword)
    if (plain === undefined && strict === undefined) return undefined
    const candidates: Bound[] = []
    if (plain !== undefined) candidates.push({ value: plain, exclusive: flag === true })
    if (strict !== undefined) candidates.push({ value: strict, exclusive: true })
    candidates.sort((a, b) => (b.value - a.value) * direction || Number(b.exclusive) - Number(a.exclusive))
    const [bound] = candidates
    if (bound !== undefined && !isExact(bound)) this.#gap(bound.value === strict ? exclusiveKeyword : keyword, 'number')
    return bound
  }

  #array(): Facets['array'] {
    const { items } = this.#schema
    const tuple = Array.isArray(items) ? this.#schemaList('items') : this.#schemaList('prefixItems')
    const rest = this.#part(Array.isArray(items) ? 'additionalItems' : 'items')
    const contains = this.#part('contains')
    const least = this.#count('minContains') ?? 1
    if (this.#schema.uniqueItems === true && this.#schema.maxItems !== 1) this.#gap('uniqueItems', 'array')
    if (contains !== undefined && this.#count('maxContains') !== undefined) this.#gap('maxContains', 'array')
    return {
      layers: tuple.length === 0 && rest === undefined ? [] : [{ prefix: tuple, ...(rest === undefined ? {} : { rest }) }],
      min: this.#count('minItems') ?? 0,
      ...this.#max('maxItems'),
      contains: contains === undefined || least === 0 ? [] : [{ schema: contains, min: least }],
    }
  }

  #object(): Facets['object'] {
    const properties = this.#schemaMap('properties')
    const patterns = [...this.#schemaMap('patternProperties')].map(([source, schema]) => ({ source, schema, path: this.#path }))
    const additional = this.#part('additionalProperties')
    const names = this.#part('propertyNames')
    const isLayer = properties.size > 0 || patterns.length > 0 || additional !== undefined
    return {
      layers: isLayer ? [{ properties, patterns, ...(additional === undefined ? {} : { additional }) }] : [],
      required: this.#strings('required'),
      names: names === undefined ? [] : [{ schema: names, path: this.#path }],
      min: this.#count('minProperties') ?? 0,
      ...this.#max('maxProperties'),
      ...(this.#schema.minProperties === undefined ? {} : { minPath: this.#path }),
    }
  }

  #part(keyword: string): Schema | undefined {
    const value = this.#schema[keyword]
    return value === undefined || isSchema(value) ? value : this.#document.asSchema(value, [...this.#path, keyword])
  }

  #schemaList(keyword: string): Schema[] {
    const list = this.#schema[keyword]
    if (list === undefined) return []
    if (!Array.isArray(list)) throw this.#wrong(keyword, 'must be a list of schemas')
    return list.map((each, index) =>
      isSchema(each) ? each : this.#document.asSchema(each, [...this.#path, keyword, String(index)]),
    )
  }

  #schemaMap(keyword: string): Map<string, Schema> {
    const map = this.#schema[keyword]
    if (map === undefined) return new Map()
    if (!isObject(map)) throw this.#wrong(keyword, 'must be an object of schemas')
    const schemas = new Map<string, Schema>()
    for (const name of Object.keys(map)) {
      const each = map[name]
      schemas.set(name, isSchema(each) ? each : this.#document.asSchema(each, [...this.#path, keyword, name]))
    }
    return schemas
  }

  #strings(keyword: string): string[] {
    const list = this.#schema[keyword] ?? []
    if (!Array.isArray(list) || list.some((each) => typeof each !== 'string'))
      throw this.#wrong(keyword, 'must be a list of names')
    return [...new Set(list)]
  }

  #string(keyword: string): string | undefined {
    const value = this.#schema[keyword]
    if (value === undefined || typeof value === 'string') return value
    throw this.#wrong(keyword, 'must be a text')
  }

  #number(keyword: string): number | undefined {
    const value = this.#schema[keyword]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    throw this.#wrong(keyword, 'must be a number')
  }

  #count(keyword: string): number | undefined {
    const value = this.#number(keyword)
    if (value === undefined || (Number.isInteger(value) && value >= 0)) return value
    throw this.#wrong(keyword, `must be a whole number of at least 0, not ${value}`)
  }

  #max(keyword: string): { max?: number } {
    const value = this.#count(keyword)
    return value === undefined ? {} : { max: value }
  }

  #gap(keyword: string, kind: Kind): void {
    this.#gaps.push({ keyword, path: this.#path, kind })
  }

  #wrong(keyword: string, why: string): Error {
    return this.#document.refusal('invalid-schema', this.#path, keyword, why)
  }
}

function kindsOf(types: readonly string[]): ReadonlySet<Kind> {
  return new Set(allKinds.filter((kind) => types.includes(kind) || (kind === 'number' && types.includes('integer'))))
}

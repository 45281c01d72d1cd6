import type { GrammarLimits } from '../rules/limits.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { type Facets, type Gap, mergeFacets, noFacets, type ObjectLayer } from './facets.ts'
import { readFacets } from './read-facets.ts'
import { isObject, type Schema, type SchemaDocument, type SchemaObject } from './schema-document.ts'

/** The branches of a set of schemas: `anyOf` and its like multiplied out, without looking into members. */
export type Expand = (schemas: readonly Schema[]) => readonly Facets[]

/**
 * Expands schemas of one document. Throws `invalid-schema` for a schema that refers to itself about the same value, and
 * `grammar-too-large` for more combinations, or more effort, than the limit.
 */
export function createExpand(document: SchemaDocument, book: RuleBook): Expand {
  const expander = new Expander(document, book)
  return (schemas) => expander.all(schemas)
}

const combining: ReadonlySet<string> = new Set(
  `$dynamicRef $recursiveRef $ref allOf anyOf dependencies dependentRequired dependentSchemas if not oneOf`.split(' '),
)

function isCombined(schema: SchemaObject): boolean {
  return Object.keys(schema).some((keyword) => combining.has(keyword))
}

class Expander {
  readonly #document: SchemaDocument
  readonly #book: RuleBook
  readonly #limits: GrammarLimits
  /** The schemas around the current one that apply to the same value: meeting one again would never end. */
  readonly #chain: SchemaObject[] = []
  readonly #known = new Map<SchemaObject, readonly Facets[]>()

  constructor(document: SchemaDocument, book: RuleBook) {
    this.#document = document
    this.#book = book
    this.#limits = book.limits
  }

  all(schemas: readonly Schema[]): readonly Facets[] {
    this.#chain.length = 0
    const [only] = schemas
    if (schemas.length === 1 && only !== undefined) return withoutEmpty(this.#one(only))
    return [...new Set(schemas)].reduce<readonly Facets[]>(
      (branches, schema) => this.#multiply(branches, this.#one(schema)),
      [noFacets],
    )
  }

  #one(schema: Schema): readonly Facets[] {
    if (typeof schema === 'boolean') return schema ? [noFacets] : []
    const known = this.#known.get(schema)
    if (known !== undefined) return known
    this.#enter(schema)
    let branches: readonly Facets[] = [readFacets(this.#document, schema)]
    if (isCombined(schema)) for (const part of this.#parts(schema)) branches = this.#multiply(branches, part)
    if (schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined) {
      branches = branches.map((branch) => this.#closed(schema, branch))
    }
    this.#chain.pop()
    this.#known.set(schema, branches)
    return branches
  }

  #enter(schema: SchemaObject): void {
    if (this.#chain.includes(schema)) {
      const last = this.#chain.at(-1) ?? schema
      const keyword = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf'].find((each) => last[each] !== undefined)
      const why = 'leads back to itself without a member in between, so it describes no value'
      throw this.#document.refusal('invalid-schema', this.#document.pathOf(last), keyword, why)
    }
    if (this.#chain.length > this.#limits.schemaDepth * 2) {
      const why = `is combined from more than ${this.#limits.schemaDepth * 2} levels of schemas; make it simpler`
      throw this.#document.refusal('schema-too-large', this.#document.pathOf(schema), undefined, why)
    }
    this.#chain.push(schema)
  }

  /** The schemas that this one combines, each as a list of branches. */
  *#parts(schema: SchemaObject): Generator<readonly Facets[]> {
    const { $ref, $dynamicRef } = schema
    if (typeof $ref === 'string') yield this.#one(this.#document.resolve($ref, schema))
    if (typeof $dynamicRef === 'string') {
      const target = this.#document.resolveDynamic($dynamicRef, schema)
      yield target === undefined ? [this.#gap(schema, '$dynamicRef')] : this.#one(target)
    }
    if (schema.$recursiveRef !== undefined) yield [this.#gap(schema, '$recursiveRef')]
    for (const part of this.#list(schema, 'allOf')) yield this.#one(part)
    if (schema.anyOf !== undefined) yield this.#list(schema, 'anyOf').flatMap((part) => this.#one(part))
    if (schema.oneOf !== undefined) yield this.#oneOf(schema)
    if (schema.not !== undefined) yield this.#not(schema, this.#document.asSchema(schema.not, []))
    if (schema.if !== undefined) yield this.#condition(schema)
    yield* this.#dependents(schema)
  }

  /** The branches of a `oneOf`. Each knows its rivals, because it must be the only one that matches. */
  #oneOf(schema: SchemaObject): readonly Facets[] {
    const parts = this.#list(schema, 'oneOf').map((part) => this.#one(part))
    const around = readFacets(this.#document, schema)
    const path = this.#document.pathOf(schema)
    const whole = parts.map((part) => part.map((branch) => mergeFacets(around, branch)))
    return parts.flatMap((part, index) => {
      this.#book.spend(parts.length / 10)
      const rival = { path, branches: whole.flatMap((others, at) => (at === index ? [] : others)) }
      return part.map((branch) => mergeFacets(branch, { ...noFacets, rivals: [rival] }))
    })
  }

  #not(schema: SchemaObject, negated: Schema): readonly Facets[] {
    if (negated === false) return [noFacets]
    if (negated === true || Object.keys(negated).length === 0) return []
    const { type, required } = negated
    if (
      Object.keys(negated).length === 1 &&
      type !== undefined &&
      type !== 'integer' &&
      !(Array.isArray(type) && type.includes('integer'))
    ) {
      const { kinds } = readFacets(this.#document, negated)
      return [{ ...noFacets, kinds: new Set([...noFacets.kinds].filter((kind) => !kinds.has(kind))), typed: true }]
    }
    if (Object.keys(negated).length === 1 && Array.isArray(required) && required.length === 1) {
      // Values that are not objects satisfy `required`, so `not` excludes them.
      const absent = layer({ properties: new Map([[String(required[0]), false]]), patterns: [] })
      return [{ ...absent, kinds: new Set(['object']) }]
    }
    return [this.#gap(schema, 'not')]
  }

  #condition(schema: SchemaObject): readonly Facets[] {
    const gaps = ['then', 'else'].filter((keyword) => schema[keyword] !== undefined && schema[keyword] !== true)
    if (typeof schema.if === 'boolean') {
      const branch = schema.if ? schema.then : schema.else
      return branch === undefined ? [noFacets] : this.#one(this.#document.asSchema(branch, []))
    }
    return gaps.length === 0 ? [noFacets] : [gaps.map((keyword) => this.#gap(schema, keyword)).reduce(mergeFacets)]
  }

  /** A dependency has two branches: the property is absent, or it is present and its dependents hold. */
  *#dependents(schema: SchemaObject): Generator<readonly Facets[]> {
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      const map = schema[keyword]
      if (map === undefined) continue
      if (!isObject(map))
        throw this.#document.refusal('invalid-schema', this.#document.pathOf(schema), keyword, 'must be an object')
      for (const [name, needs] of Object.entries(map)) {
        const absent = layer({ properties: new Map([[name, false]]), patterns: [] })
        const names = Array.isArray(needs) ? needs.map(String) : []
        const present: Facets = { ...noFacets, object: { ...noFacets.object, required: [name, ...names] } }
        const also = Array.isArray(needs) ? [noFacets] : this.#one(this.#document.asSchema(needs, []))
        yield [...also.map((branch) => mergeFacets(present, branch)), absent]
      }
    }
  }

  /** `unevaluated…` applies to members that nothing in this schema or its combinations covers, which is known for one branch. */
  #closed(schema: SchemaObject, branch: Facets): Facets {
    const { unevaluatedProperties: properties, unevaluatedItems: items } = schema
    let closed = branch
    if (properties !== undefined && properties !== true) {
      const additional = this.#document.asSchema(properties, [...this.#document.pathOf(schema), 'unevaluatedProperties'])
      const open = branch.object.layers.some((each) => each.additional !== undefined)
      const names = branch.object.layers.flatMap((each) => [...each.properties.keys()])
      const patterns = branch.object.layers.flatMap((each) => each.patterns.map((pattern) => ({ ...pattern, schema: true })))
      if (!open)
        closed = mergeFacets(closed, layer({ properties: new Map(names.map((name) => [name, true])), patterns, additional }))
    }
    if (items !== undefined && items !== true) {
      const rest = this.#document.asSchema(items, [...this.#document.pathOf(schema), 'unevaluatedItems'])
      const open = branch.array.layers.some((each) => each.rest !== undefined)
      const longest = Math.max(0, ...branch.array.layers.map((each) => each.prefix.length))
      const prefix = Array.from({ length: longest }, () => true)
      if (!open) closed = mergeFacets(closed, { ...noFacets, array: { ...noFacets.array, layers: [{ prefix, rest }] } })
    }
    return closed
  }

  #multiply(left: readonly Facets[], right: readonly Facets[]): readonly Facets[] {
    if (left.length * right.length > this.#limits.alternatives) {
      const at = this.#chain[0]
      const path = at === undefined ? [] : this.#document.pathOf(at)
      const why = `has more than ${this.#limits.alternatives} combinations of its alternatives; make it simpler`
      throw this.#document.refusal('grammar-too-large', path, undefined, why)
    }
    this.#book.spend(left.length * sizeOf(right) + sizeOf(left) * right.length)
    return withoutEmpty(left.flatMap((a) => right.map((b) => mergeFacets(a, b))))
  }

  #list(schema: SchemaObject, keyword: string): readonly Schema[] {
    const list = schema[keyword] ?? []
    const path = this.#document.pathOf(schema)
    if (!Array.isArray(list)) throw this.#document.refusal('invalid-schema', path, keyword, 'must be a list of schemas')
    return list.map((part, index) => this.#document.asSchema(part, [...path, keyword, String(index)]))
  }

  #gap(schema: SchemaObject, keyword: string): Facets {
    const gap: Gap = { keyword, path: this.#document.pathOf(schema) }
    return { ...noFacets, gaps: [gap] }
  }
}

function withoutEmpty(branches: readonly Facets[]): readonly Facets[] {
  const isEmpty = (branch: Facets): boolean => branch.values?.length === 0
  return branches.some(isEmpty) ? branches.filter((branch) => !isEmpty(branch)) : branches
}

/** The effort of copying all lists of these branches. */
function sizeOf(branches: readonly Facets[]): number {
  let size = 0
  for (const { object, array, text, multiples, rivals, gaps, values } of branches) {
    const lists = [object.layers, object.required, object.names, array.layers, array.contains, text.patterns, text.formats]
    for (const list of [...lists, multiples, rivals, gaps, values ?? []]) size += list.length
  }
  return branches.length / 2 + size / 20
}

function layer(only: ObjectLayer): Facets {
  return { ...noFacets, impliedKinds: new Set(['object']), object: { ...noFacets.object, layers: [only] } }
}

import { GrammarError, type GrammarErrorKind } from './grammar-error.ts'
import type { GrammarLimits } from './limits.ts'

/** A schema as it stands in a JSON document. */
export type SchemaObject = { readonly [keyword: string]: unknown }
export type Schema = SchemaObject | boolean

/** Where in a document: the keys from its root. */
export type SchemaPath = readonly string[]

type Resource = { readonly uri: string; readonly root: SchemaObject; readonly anchors: Map<string, SchemaObject> }
/** `steps` lead here from the place outside, which most never have to be told. */
type Place = {
  readonly outer: Place | undefined
  readonly steps: SchemaPath
  readonly depth: number
  readonly resource: Resource
}

const schemaKeywords: ReadonlySet<string> = new Set(
  `additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems
  unevaluatedProperties`.split(/\s+/),
)
const schemaListKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
const schemaMapKeywords: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])

/** The keywords whose values are schemas: one, a list of them, or a map by name. `items` may be one or a list. */
export const keywordsOfSchema = { single: schemaKeywords, lists: schemaListKeywords, maps: schemaMapKeywords }

/** One JSON Schema document: knows the place of every schema in it, and what a reference means there. Nothing is ever fetched. */
export class SchemaDocument {
  readonly root: Schema
  readonly #param: string | undefined
  readonly #limits: GrammarLimits
  readonly #places = new Map<SchemaObject, Place>()
  readonly #numbers = new Map<SchemaObject, number>()
  readonly #resources = new Map<string, Resource>()
  readonly #dynamicAnchors = new Map<string, SchemaObject[]>()
  readonly #resolved = new Map<string, Schema>()

  /** Throws when the document is not a schema or too large. `param` is the caller's name for it. */
  constructor(root: unknown, limits: GrammarLimits, param?: string) {
    this.#limits = limits
    this.#param = param
    this.root = this.asSchema(root, [])
    if (typeof this.root === 'object') {
      const resource = this.#addResource(this.root, 'dragoman://schema/')
      this.#index(this.root, { outer: undefined, steps: [], depth: 0, resource })
    }
  }

  /** Takes in a schema that is not part of the document, as if it stood at its root. */
  include(schema: Schema): Schema {
    if (typeof schema === 'object' && !this.#places.has(schema)) {
      const uri = 'dragoman://schema/'
      const resource = typeof this.root === 'object' ? this.#places.get(this.root)?.resource : undefined
      const place = { outer: undefined, steps: [], depth: 0 }
      this.#index(schema, { ...place, resource: resource ?? { uri, root: schema, anchors: new Map() } })
    }
    return schema
  }

  /** A number for each schema, so that a set of schemas has a name. */
  numberOf(schema: SchemaObject): number {
    const known = this.#numbers.get(schema)
    if (known !== undefined) return known
    this.#numbers.set(schema, this.#numbers.size)
    return this.#numbers.size - 1
  }

  pathOf(schema: SchemaObject): SchemaPath {
    const steps: SchemaPath[] = []
    for (let place = this.#places.get(schema); place !== undefined; place = place.outer) steps.push(place.steps)
    return steps.reverse().flat()
  }

  /** What a `$ref` in `from` refers to. Throws when that is not in this document. */
  resolve(reference: string, from: SchemaObject): Schema {
    const place = this.#places.get(from)
    const key = JSON.stringify([place?.resource.uri, reference])
    const known = this.#resolved.get(key)
    if (known !== undefined) return known
    const uri =
      place === undefined || !URL.canParse(reference, place.resource.uri) ? undefined : new URL(reference, place.resource.uri)
    const fragment = uri === undefined ? '' : decode(uri.hash.slice(1))
    if (uri !== undefined) uri.hash = ''
    const resource = uri === undefined ? undefined : this.#resources.get(withoutHash(uri.href))
    const found = resource === undefined ? undefined : this.#find(resource, fragment)
    if (found === undefined) {
      throw this.refusal('unsupported-schema', this.pathOf(from), '$ref', `refers to '${reference}', which is not in this schema`)
    }
    this.#resolved.set(key, found)
    return found
  }

  /** What a `$dynamicRef` means, where only one schema can be meant. */
  resolveDynamic(reference: string, from: SchemaObject): Schema | undefined {
    const [, name] = /^#([^/].*)$/.exec(reference) ?? []
    const candidates = name === undefined ? undefined : this.#dynamicAnchors.get(name)
    if (candidates !== undefined) return candidates.length === 1 ? candidates[0] : undefined
    return this.resolve(reference, from)
  }

  /** Takes a value for a schema, or refuses it. */
  asSchema(value: unknown, path: SchemaPath): Schema {
    if (isSchema(value)) return value
    throw this.refusal('invalid-schema', path.slice(0, -1), path.at(-1), 'must be a schema: an object, true or false')
  }

  /** The failure of one keyword, by its name and its place. */
  refusal(kind: GrammarErrorKind, path: SchemaPath, keyword: string | undefined, why: string): GrammarError {
    const full = keyword === undefined ? path : [...path, keyword]
    const what = keyword === undefined ? 'the schema' : `'${keyword}'`
    const param = [this.#param ?? '', ...full.map(paramStep)].join('').replace(/^\./, '')
    return new GrammarError(kind, `${what} at ${pointerText(path)} ${why}`, { param: param === '' ? undefined : param })
  }

  #find(resource: Resource, fragment: string): Schema | undefined {
    if (fragment === '') return resource.root
    if (!fragment.startsWith('/')) return resource.anchors.get(fragment)
    let at: unknown = resource.root
    let owner = resource.root
    for (const step of fragment.slice(1).split('/')) {
      const key = step.replace(/~1/g, '/').replace(/~0/g, '~')
      at = Array.isArray(at) && /^\d+$/.test(key) ? at[Number(key)] : isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
      if (isObject(at) && this.#places.has(at)) owner = at
    }
    const outer = this.#places.get(owner)
    if (isObject(at) && !this.#places.has(at))
      this.#index(at, { outer, steps: ['…'], depth: (outer?.depth ?? 0) + 1, resource: outer?.resource ?? resource })
    return typeof at === 'boolean' || isObject(at) ? at : undefined
  }

  #addResource(root: SchemaObject, base: string): Resource {
    const id = typeof root.$id === 'string' && URL.canParse(root.$id, base) ? new URL(root.$id, base).href : base
    const resource: Resource = { uri: withoutHash(id), root, anchors: new Map() }
    this.#resources.set(resource.uri, resource)
    return resource
  }

  /** Takes in a schema that stands at `place`, and all that is in it. */
  #index(schema: SchemaObject, place: Place): void {
    if (this.#places.has(schema)) return
    if (place.depth > this.#limits.schemaDepth * 2) throw this.#tooLarge(`nests deeper than ${this.#limits.schemaDepth} levels`)
    if (this.#places.size >= this.#limits.schemaNodes) throw this.#tooLarge(`has more than ${this.#limits.schemaNodes} parts`)
    const isResource = place.depth > 0 && typeof schema.$id === 'string' && !schema.$id.startsWith('#')
    const own = isResource ? { ...place, resource: this.#addResource(schema, place.resource.uri) } : place
    this.#places.set(schema, own)
    this.#indexAnchors(schema, own.resource)
    for (const keyword of Object.keys(schema)) {
      const value = schema[keyword]
      // Most values are texts and numbers.
      if (typeof value !== 'object' || value === null) continue
      if (schemaListKeywords.has(keyword) && Array.isArray(value)) {
        for (const [index, part] of value.entries()) this.#indexPart(part, own, [keyword, String(index)])
      } else if (schemaMapKeywords.has(keyword) && isObject(value)) {
        for (const name of Object.keys(value)) this.#indexPart(value[name], own, [keyword, name])
      } else if (schemaKeywords.has(keyword)) {
        this.#indexPart(value, own, [keyword])
      }
    }
  }

  #indexPart(part: unknown, outer: Place, steps: SchemaPath): void {
    if (isObject(part)) this.#index(part, { outer, steps, depth: outer.depth + steps.length, resource: outer.resource })
  }

  #indexAnchors(schema: SchemaObject, resource: Resource): void {
    if (typeof schema.$anchor === 'string') resource.anchors.set(schema.$anchor, schema)
    if (typeof schema.$id === 'string' && schema.$id.startsWith('#')) resource.anchors.set(schema.$id.slice(1), schema)
    if (typeof schema.$dynamicAnchor === 'string') {
      resource.anchors.set(schema.$dynamicAnchor, schema)
      const known = this.#dynamicAnchors.get(schema.$dynamicAnchor)
      if (known === undefined) this.#dynamicAnchors.set(schema.$dynamicAnchor, [schema])
      else known.push(schema)
    }
  }

  #tooLarge(why: string): GrammarError {
    return this.refusal('schema-too-large', [], undefined, `${why}; make it smaller`)
  }
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isObject(value)
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A place as a JSON pointer. */
export function pointerText(path: SchemaPath): string {
  return ['#', ...path.map((step) => step.replace(/~/g, '~0').replace(/\//g, '~1'))].join('/')
}

/** A step of a place as requests spell it: `.name`, or `[0]`. */
function paramStep(step: string): string {
  return /^\d+$/.test(step) ? `[${step}]` : `.${step}`
}

function withoutHash(uri: string): string {
  return uri.replace(/#.*$/, '')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not percent-encoding, then: the text means itself.
    return text
  }
}

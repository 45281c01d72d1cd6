import { GrammarError, type GrammarErrorKind } from '../rules/grammar-error.ts'
import type { GrammarLimits } from '../rules/limits.ts'

export type SchemaObject = { readonly [keyword: string]: unknown }
export type Schema = SchemaObject | boolean

/** A path in a document: the keys from its root. */
export type SchemaPath = readonly string[]

type Resource = { readonly uri: string; readonly root: SchemaObject; readonly anchors: Map<string, SchemaObject> }
/** Where a schema is in the document: `steps` lead to it from the schema around it. */
type Location = {
  readonly outer: Location | undefined
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

/** One JSON Schema document: the path of every schema in it, and the targets of references. Nothing is fetched. */
export class SchemaDocument {
  readonly root: Schema
  readonly #param: string | undefined
  readonly #limits: GrammarLimits
  readonly #locations = new Map<SchemaObject, Location>()
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

  /** Adds a schema that is not part of the document, as if it were its root. */
  include(schema: Schema): Schema {
    if (typeof schema === 'object' && !this.#locations.has(schema)) {
      const uri = 'dragoman://schema/'
      const resource = typeof this.root === 'object' ? this.#locations.get(this.root)?.resource : undefined
      const location = { outer: undefined, steps: [], depth: 0 }
      this.#index(schema, { ...location, resource: resource ?? { uri, root: schema, anchors: new Map() } })
    }
    return schema
  }

  /** A number for each schema, so that a set of schemas has a key. */
  numberOf(schema: SchemaObject): number {
    const known = this.#numbers.get(schema)
    if (known !== undefined) return known
    this.#numbers.set(schema, this.#numbers.size)
    return this.#numbers.size - 1
  }

  pathOf(schema: SchemaObject): SchemaPath {
    const steps: SchemaPath[] = []
    for (let location = this.#locations.get(schema); location !== undefined; location = location.outer) steps.push(location.steps)
    return steps.reverse().flat()
  }

  /** The target of a `$ref` in `from`. Throws when it is not in this document. */
  resolve(reference: string, from: SchemaObject): Schema {
    const location = this.#locations.get(from)
    const key = JSON.stringify([location?.resource.uri, reference])
    const known = this.#resolved.get(key)
    if (known !== undefined) return known
    const uri =
      location === undefined || !URL.canParse(reference, location.resource.uri)
        ? undefined
        : new URL(reference, location.resource.uri)
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

  /** The target of a `$dynamicRef`; undefined where several are possible. */
  resolveDynamic(reference: string, from: SchemaObject): Schema | undefined {
    const [, name] = /^#([^/].*)$/.exec(reference) ?? []
    const candidates = name === undefined ? undefined : this.#dynamicAnchors.get(name)
    if (candidates !== undefined) return candidates.length === 1 ? candidates[0] : undefined
    return this.resolve(reference, from)
  }

  /** The value as a schema. Throws when it is not one. */
  asSchema(value: unknown, path: SchemaPath): Schema {
    if (isSchema(value)) return value
    throw this.refusal('invalid-schema', path.slice(0, -1), path.at(-1), 'must be a schema: an object, true or false')
  }

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
      if (isObject(at) && this.#locations.has(at)) owner = at
    }
    const outer = this.#locations.get(owner)
    if (isObject(at) && !this.#locations.has(at))
      this.#index(at, { outer, steps: ['…'], depth: (outer?.depth ?? 0) + 1, resource: outer?.resource ?? resource })
    return typeof at === 'boolean' || isObject(at) ? at : undefined
  }

  #addResource(root: SchemaObject, base: string): Resource {
    const id = typeof root.$id === 'string' && URL.canParse(root.$id, base) ? new URL(root.$id, base).href : base
    const resource: Resource = { uri: withoutHash(id), root, anchors: new Map() }
    this.#resources.set(resource.uri, resource)
    return resource
  }

  #index(schema: SchemaObject, location: Location): void {
    if (this.#locations.has(schema)) return
    if (location.depth > this.#limits.schemaDepth * 2)
      throw this.#tooLarge(`nests deeper than ${this.#limits.schemaDepth} levels`)
    if (this.#locations.size >= this.#limits.schemaNodes) throw this.#tooLarge(`has more than ${this.#limits.schemaNodes} parts`)
    const isResource = location.depth > 0 && typeof schema.$id === 'string' && !schema.$id.startsWith('#')
    const own = isResource ? { ...location, resource: this.#addResource(schema, location.resource.uri) } : location
    this.#locations.set(schema, own)
    this.#indexAnchors(schema, own.resource)
    for (const keyword of Object.keys(schema)) {
      const value = schema[keyword]
      // Most values are strings and numbers.
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

  #indexPart(part: unknown, outer: Location, steps: SchemaPath): void {
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

export function pointerText(path: SchemaPath): string {
  return ['#', ...path.map((step) => step.replace(/~/g, '~0').replace(/\//g, '~1'))].join('/')
}

/** A step of a path as in `param`: `.name` or `[0]`. */
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
    // Not percent-encoded.
    return text
  }
}

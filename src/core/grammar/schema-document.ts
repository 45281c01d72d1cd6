import { AppError } from '../errors.ts'
import type { GrammarLimits } from './limits.ts'

/** A schema as it stands in a JSON document. */
export type SchemaObject = { readonly [keyword: string]: unknown }
export type Schema = SchemaObject | boolean

/** Where in a document: the keys from its root. */
export type SchemaPath = readonly string[]

type Resource = { readonly uri: string; readonly root: SchemaObject; readonly anchors: Map<string, SchemaObject> }
type Place = { readonly path: SchemaPath; readonly resource: Resource }

const schemaKeywords = new Set(
  `additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems
  unevaluatedProperties`.split(/\s+/),
)
const schemaListKeywords = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
const schemaMapKeywords = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'])

/** One JSON Schema document: knows the place of every schema in it, and what a reference means there. Nothing is ever fetched. */
export class SchemaDocument {
  readonly root: Schema
  readonly #param: string | undefined
  readonly #limits: GrammarLimits
  readonly #places = new Map<SchemaObject, Place>()
  readonly #numbers = new Map<SchemaObject, number>()
  readonly #resources = new Map<string, Resource>()
  readonly #dynamicAnchors = new Map<string, SchemaObject[]>()

  /** Throws `invalid-request` when the document is no schema or nests too deeply. `param` names it to the caller. */
  constructor(root: unknown, limits: GrammarLimits, param?: string) {
    this.#limits = limits
    this.#param = param
    this.root = this.asSchema(root, [])
    if (typeof this.root === 'object') {
      const resource = this.#addResource(this.root, 'dragoman://schema/')
      this.#index(this.root, [], resource)
    }
  }

  /** Takes in a schema that is not part of the document, as if it stood at its root. */
  include(schema: Schema): Schema {
    if (typeof schema === 'object' && !this.#places.has(schema)) {
      const uri = 'dragoman://schema/'
      const resource = typeof this.root === 'object' ? this.#places.get(this.root)?.resource : undefined
      this.#index(schema, [], resource ?? { uri, root: schema, anchors: new Map() })
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
    return this.#places.get(schema)?.path ?? []
  }

  /** What a `$ref` in `from` refers to. Throws `unsupported-field` when that is not in this document. */
  resolve(reference: string, from: SchemaObject): Schema {
    const place = this.#places.get(from)
    const uri =
      place === undefined || !URL.canParse(reference, place.resource.uri) ? undefined : new URL(reference, place.resource.uri)
    const fragment = uri === undefined ? '' : decode(uri.hash.slice(1))
    if (uri !== undefined) uri.hash = ''
    const resource = uri === undefined ? undefined : this.#resources.get(withoutHash(uri.href))
    const found = resource === undefined ? undefined : this.#find(resource, fragment)
    if (found === undefined) {
      throw this.refusal('unsupported-field', this.pathOf(from), '$ref', `refers to '${reference}', which is not in this schema`)
    }
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
    if (typeof value === 'boolean' || isObject(value)) return value
    throw this.refusal('invalid-request', path.slice(0, -1), path.at(-1), 'must be a schema: an object, true or false')
  }

  /** The failure of one keyword, by its name and its place. */
  refusal(code: 'invalid-request' | 'unsupported-field', path: SchemaPath, keyword: string | undefined, why: string): AppError {
    const full = keyword === undefined ? path : [...path, keyword]
    const what = keyword === undefined ? 'the schema' : `'${keyword}'`
    const param = [this.#param ?? '', ...full.map(paramStep)].join('').replace(/^\./, '')
    return new AppError(code, `${what} at ${pointerText(path)} ${why}`, param === '' ? {} : { param })
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
    if (isObject(at) && !this.#places.has(at))
      this.#index(at, [...this.pathOf(owner), '…'], this.#places.get(owner)?.resource ?? resource)
    return typeof at === 'boolean' || isObject(at) ? at : undefined
  }

  #addResource(root: SchemaObject, base: string): Resource {
    const id = typeof root.$id === 'string' && URL.canParse(root.$id, base) ? new URL(root.$id, base).href : base
    const resource: Resource = { uri: withoutHash(id), root, anchors: new Map() }
    this.#resources.set(resource.uri, resource)
    return resource
  }

  #index(schema: SchemaObject, path: SchemaPath, outer: Resource): void {
    if (this.#places.has(schema)) return
    if (path.length > this.#limits.schemaDepth * 2) throw this.#tooLarge(`nests deeper than ${this.#limits.schemaDepth} levels`)
    if (this.#places.size >= this.#limits.schemaNodes) throw this.#tooLarge(`has more than ${this.#limits.schemaNodes} parts`)
    const isResource = path.length > 0 && typeof schema.$id === 'string' && !schema.$id.startsWith('#')
    const resource = isResource ? this.#addResource(schema, outer.uri) : outer
    this.#places.set(schema, { path, resource })
    this.#indexAnchors(schema, resource)
    for (const [keyword, value] of Object.entries(schema)) {
      if (schemaListKeywords.has(keyword) && Array.isArray(value)) {
        for (const [index, part] of value.entries()) this.#indexPart(part, [...path, keyword, String(index)], resource)
      } else if (schemaMapKeywords.has(keyword) && isObject(value)) {
        for (const [name, part] of Object.entries(value)) this.#indexPart(part, [...path, keyword, name], resource)
      } else if (schemaKeywords.has(keyword)) {
        this.#indexPart(value, [...path, keyword], resource)
      }
    }
  }

  #indexPart(part: unknown, path: SchemaPath, resource: Resource): void {
    if (isObject(part)) this.#index(part, path, resource)
  }

  #indexAnchors(schema: SchemaObject, resource: Resource): void {
    if (typeof schema.$anchor === 'string') resource.anchors.set(schema.$anchor, schema)
    if (typeof schema.$id === 'string' && schema.$id.startsWith('#')) resource.anchors.set(schema.$id.slice(1), schema)
    if (typeof schema.$dynamicAnchor === 'string') {
      resource.anchors.set(schema.$dynamicAnchor, schema)
      const known = this.#dynamicAnchors.get(schema.$dynamicAnchor) ?? []
      this.#dynamicAnchors.set(schema.$dynamicAnchor, [...known, schema])
    }
  }

  #tooLarge(why: string): AppError {
    return this.refusal('invalid-request', [], undefined, `${why}; make it smaller`)
  }
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

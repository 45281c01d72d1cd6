import type { FastifyContextConfig } from 'fastify'
import { z } from 'zod'
import { encodeAnthropicError } from '../../dialect/anthropic/errors.ts'
import { error as anthropicError } from '../../dialect/anthropic/replies.ts'
import { encodeKoboldError } from '../../dialect/kobold/errors.ts'
import { error as koboldError } from '../../dialect/kobold/replies.ts'
import { encodeStackError } from '../../dialect/llama-stack/errors.ts'
import { error as stackError } from '../../dialect/llama-stack/replies.ts'
import { encodeLmStudioError } from '../../dialect/lm-studio/errors.ts'
import { error as lmStudioError } from '../../dialect/lm-studio/replies.ts'
import { encodeEmbedError, encodeOllamaError } from '../../dialect/ollama/errors.ts'
import { error as ollamaError } from '../../dialect/ollama/replies.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { error as openaiError } from '../../dialect/openai/replies.ts'
import { encodeUnslothError } from '../../dialect/unsloth/encode.ts'
import { error as unslothError } from '../../dialect/unsloth/replies.ts'
import { either, names } from '../../dialect/wire/json/shapes.ts'
import type { ServedRoute } from '../access/route-guard.ts'
import { chapters } from './chapters.ts'
import type { Operation, Reply } from './operation.ts'
import { type Json, withFields } from './request-schema.ts'

type Source = {
  readonly routes: readonly ServedRoute[]
  readonly version: string
  otherPathsOf(path: string): readonly string[]
}

const about = `Every route of this server, in every protocol that it speaks. The request schemas are those that the server validates with.

- A field that is not described is accepted, changes nothing, and is named in the reply's header \`x-dragoman-ignored\`; null means the same as leaving a field out.
- A request that names no model is for the default model, except in Ollama's API. \`MODEL\` in an example is the id of a model.
- Keys are needed once some are configured. The scope of a route stands beside the key.
- \`x-also-at\`: other URLs of the same route. Each GET answers HEAD, too. An id in a path may have slashes where it is the name of a model.
- An event or a line of a stream is JSON of the schema in \`x-each\`; an error within a stream has the envelope of the route's errors.
`

/** The OpenAPI document of the served routes. */
export function buildDocument({ routes, version, otherPathsOf }: Source): Json {
  const described = operations()
  const schemas = new Schemas()
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{id}')
    for (const method of route.methods) {
      if (method === 'HEAD') continue
      const config = route.configOf(method)
      const id = idOf(method, path)
      const known = described.get(`${method} ${path}`)
      const envelope = envelopeOf(config)
      const others = otherPathsOf(path)
      paths[path] ??= {}
      paths[path][method.toLowerCase()] = {
        operationId: id,
        ...describe(known, path, schemas),
        ...(others.length > 0 && { 'x-also-at': others }),
        security: securityOf(config.scope),
        responses: {
          ...replies(known, id, schemas),
          default: {
            description: 'What went wrong',
            content: { 'application/json': envelope === undefined ? {} : { schema: schemas.refTo(envelope, 'Error') } },
          },
        },
      }
    }
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Dragoman', version, description: about, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    // Relative to this document: a proxy may serve it below a prefix.
    servers: [{ url: '.' }],
    tags: chapters.map(({ tag, about: description }) => ({ name: tag, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      schemas: schemas.all(),
    },
  }
}

/** `any` requires a key, with any scope. */
function securityOf(scope: string | undefined): Json[] {
  if (scope === 'public') return []
  const scopes = scope === 'any' ? [] : [scope]
  return [{ bearer: scopes }, { key: scopes }]
}

type Described = Operation & { readonly tag: string }

/** By method and path. */
function operations(): ReadonlyMap<string, Described> {
  return new Map(
    chapters.flatMap(({ tag, operations }) =>
      Object.entries(operations).flatMap(([name, operation]) => {
        const [method] = name.split(' ')
        const all = [name, ...(operation.also ?? []).map((path) => `${method} ${path}`)]
        return all.map((each) => [each, { ...operation, tag }] as const)
      }),
    ),
  )
}

function idOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z\d]+/).filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => (word[0] ?? '').toUpperCase() + word.slice(1)).join('')
}

function describe(known: Described | undefined, path: string, schemas: Schemas): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }))
  if (known === undefined) {
    const requestBody = { content: { 'application/json': { schema: {} } } }
    return { summary: 'A protocol that was added to this server', parameters: inPath, requestBody }
  }
  const { title, tag, query, body, example } = known
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({ name, in: 'query', schema: toJson(schema) }))
  return {
    tags: [tag],
    summary: title,
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: {
        required: body.isOptional !== true,
        content: {
          [body.isForm === true ? 'multipart/form-data' : 'application/json']: {
            schema: schemas.add(body.name, () => withFields(toJson(body.schema), body)),
            ...(example !== undefined && { example }),
          },
        },
      },
    }),
  }
}

function replies(known: Described | undefined, id: string, schemas: Schemas): Json {
  if (known === undefined) return {}
  const { reply, stream, statuses = [200], emptyStatus } = known
  const content = {
    ...(reply !== undefined && contentOf(reply, (schema) => schemas.refTo(schema, `${id}Reply`))),
    ...(stream !== undefined && {
      // Without a schema of the whole: some tools would apply it to each event.
      [stream.type]: { 'x-each': schemas.refTo(stream.each, `${id}Event`) },
    }),
  }
  const answer = { description: known.title, ...(Object.keys(content).length > 0 && { content }) }
  const empty = emptyStatus !== undefined && { [emptyStatus]: { description: known.title } }
  return { ...Object.fromEntries(statuses.map((status) => [status, answer])), ...empty }
}

function contentOf(reply: Reply, refTo: (schema: z.ZodType) => Json): Json {
  if (reply === 'empty') return {}
  if ('types' in reply) {
    return Object.fromEntries(reply.types.map((type) => [type, { schema: type.startsWith('text/') ? { type: 'string' } : {} }]))
  }
  return { 'application/json': { schema: refTo(reply) } }
}

const uriOf = (id: string) => `#/components/schemas/${id}`

class Schemas {
  readonly #bodies = new Map<string, Json>()
  readonly #replies = new Map<z.ZodType, string>(names)

  add(name: string, make: () => Json): Json {
    if (!this.#bodies.has(name)) this.#bodies.set(name, make())
    return { $ref: uriOf(name) }
  }

  /** `name`: for a schema without one. */
  refTo(schema: z.ZodType, name: string): Json {
    const known = this.#replies.get(schema) ?? name
    this.#replies.set(schema, known)
    return { $ref: uriOf(known) }
  }

  all(): Json {
    const registry = z.registry<{ readonly id: string }>()
    for (const [schema, id] of this.#replies) registry.add(schema, { id })
    const { schemas } = z.toJSONSchema(registry, { uri: uriOf, io: 'input' })
    const replies = Object.entries(schemas).map(([id, { $id: _, $schema: __, ...schema }]) => [id, schema] as const)
    return Object.fromEntries([...this.#bodies, ...replies].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

const safe = Number.MAX_SAFE_INTEGER

/** The JSON form of the validating schema, with the limits that lists and dictionaries have here. */
function toJson(schema: z.core.$ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema as z.ZodType, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: made }) => {
      const { limit } = zodSchema._zod.def as { readonly limit?: { readonly count: number } }
      if (limit !== undefined)
        Object.assign(made, made.type === 'array' ? { maxItems: limit.count } : { maxProperties: limit.count })
      // Objects are open, as in JSON Schema.
      if (made.properties !== undefined && typeof made.additionalProperties === 'object') delete made.additionalProperties
      if (made.maximum === safe) delete made.maximum
      if (made.minimum === -safe) delete made.minimum
    },
  })
  return json
}

const envelopes = new Map<unknown, z.ZodType>([
  // For routes without an encoder.
  [undefined, openaiError],
  [encodeOpenaiError, openaiError],
  [encodeAnthropicError, anthropicError],
  [encodeKoboldError, koboldError],
  [encodeStackError, stackError],
  [encodeOllamaError, ollamaError],
  [encodeEmbedError, ollamaError],
  [encodeLmStudioError, lmStudioError],
  [encodeUnslothError, unslothError],
])

/** For routes whose errors have the form of the client's protocol. */
const anyOfThem = either([openaiError, anthropicError, stackError])

/** The form of a route's errors; undefined for a protocol that was added to the server. */
function envelopeOf({ encodeError, encodeErrorOf }: FastifyContextConfig): z.ZodType | undefined {
  return encodeErrorOf === undefined ? envelopes.get(encodeError) : anyOfThem
}

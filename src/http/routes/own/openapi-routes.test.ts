import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createJudge, type OpenapiDocument, operationsOf } from '../../../../test/support/http/openapi-judge.ts'
import { createTestServer, openTestServer } from '../../../../test/support/http/test-server.ts'
import type { Dialect } from '../../../contract/dialect.ts'
import type { Engine } from '../../../contract/engine.ts'
import type { LoadRequest } from '../../../contract/server/lifecycle.ts'
import { unslothGenerate } from '../../../dialect/unsloth/dialect.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'
import { chapters } from '../../openapi/chapters.ts'

/** With every route that a server may have; those of loading models and of files are not called here. */
const openFullServer = () => {
  const services = { lifecycle: {}, files: {}, keys: {}, usage: {}, findOffers: {}, modelFiles: {} } as never
  return openTestServer({ ...(services as object), debugs: true })
}

/** The document of that server, which takes longer to make than all else here. */
let full: Promise<OpenapiDocument> | undefined
const readFullDocument = () => {
  full ??= readDocument(openFullServer().app)
  return full
}

async function readDocument(app: ReturnType<typeof openTestServer>['app']): Promise<OpenapiDocument> {
  return (await app.inject({ url: '/openapi.json' })).json()
}

describe('GET /openapi.json', () => {
  test('is an OpenAPI document', async () => {
    const document = await readFullDocument()
    expect(await new Validator().validate(document as never)).toEqual({ valid: true })
  })

  test('describes every route that is served, and no other', async () => {
    const { app } = openFullServer()
    const operations = operationsOf(await readFullDocument())
    const served = (await app.inject({ url: '/v1/inspect/routes' })).json().data as { route: string; method: string }[]
    const names = served
      .filter(({ route, method }) => method !== 'HEAD' && !route.startsWith('/v1/openai/'))
      .map(({ route, method }) => `${method} ${route.replaceAll(/:(\w+)/g, '{$1}')}`)
    expect(operations.map(({ name }) => name).sort()).toEqual(names.sort())
    // One without a tag has no description.
    expect(operations.filter(({ operation }) => operation.tags === undefined).map(({ name }) => name)).toEqual([])
    const described = chapters.flatMap(({ operations }) =>
      Object.entries(operations).flatMap(([name, { also = [] }]) => [
        name,
        ...also.map((path) => `${name.split(' ')[0]} ${path}`),
      ]),
    )
    expect(described.sort()).toEqual(names.sort())
  })

  test('gives each operation its own id', async () => {
    const ids = operationsOf(await readFullDocument()).map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('has the routes of this server only, and those that a program around it adds', async () => {
    const dialect: Dialect = { ...unslothGenerate, encodeError: () => ({ status: 400, body: {} }) }
    const { paths } = await readDocument(openTestServer({ dialects: [{ path: '/own/chat', dialect }] }).app)
    expect(paths['/v1/files']).toBeUndefined()
    expect(paths['/own/chat']?.post?.summary).toBe('A protocol that was added to this server')
    expect(paths['/own/chat']?.post?.responses).toEqual({
      default: { description: 'What went wrong', content: { 'application/json': {} } },
    })
  })

  test('is answered without a key, also where keys are needed, and names no model', async () => {
    const { app } = openTestServer({ auth: { apiKeys: [{ hash: '0'.repeat(64), scopes: new Set(['inference']) }] } })
    for (const url of ['/openapi.json', '/docs']) {
      const reply = await app.inject({ url })
      expect(reply.statusCode).toBe(200)
      expect(reply.body).not.toContain('org/fake')
    }
    expect((await app.inject({ url: '/v1/models' })).statusCode).toBe(401)
  })

  test.each(['/openapi.json', '/docs'])('%s is not sent again to a client that has it', async (url) => {
    const { app } = openTestServer()
    const { etag } = (await app.inject({ url })).headers
    const again = await app.inject({ url, headers: { 'if-none-match': `"other", ${String(etag)}` } })
    expect([again.statusCode, again.body]).toEqual([304, ''])
    expect((await app.inject({ url, headers: { 'if-none-match': '"other"' } })).statusCode).toBe(200)
  })

  test('marks where else a route is', async () => {
    const { paths } = await readDocument(openTestServer().app)
    expect(paths['/v1/responses/{id}']?.get?.['x-also-at']).toEqual([
      '/responses/{id}',
      '/v1/openai/v1/responses/{id}',
      '/api/inference/responses/{id}',
    ])
    expect(paths['/health']?.get?.['x-also-at']).toBeUndefined()
  })

  test('says what a key needs', async () => {
    const { paths } = await readFullDocument()
    expect(paths['/health']?.get?.security).toEqual([])
    expect(paths['/v1/model/load']?.post?.security).toEqual([{ bearer: ['admin'] }, { key: ['admin'] }])
  })
})

describe('the schema of a body', () => {
  const schemaOf = async (name: string) => {
    const { components } = await readFullDocument()
    return components.schemas[name] as {
      readonly required: readonly string[]
      readonly properties: Readonly<Record<string, { readonly description: string; readonly enum?: readonly unknown[] }>>
    }
  }

  test('has the types that the server checks, and the notes of the field table', async () => {
    const { properties } = await schemaOf('ChatCompletionRequest')
    expect(properties.temperature).toMatchObject({ anyOf: [{ type: 'number', minimum: 0, maximum: 10 }, { type: 'null' }] })
    expect(properties.max_tokens?.description).toMatch(/^Another name of max_completion_tokens: at least 1/)
    expect(properties.messages?.description).not.toContain('.md')
    expect(properties.tools).toMatchObject({ anyOf: [{ type: 'array', maxItems: 2048 }, { type: 'null' }] })
  })

  test('lets a refused field have the values that change nothing', async () => {
    const { properties } = await schemaOf('ChatCompletionRequest')
    expect(properties.audio).toEqual({ enum: [null], description: 'refused: no speech output' })
    expect(properties.modalities?.enum).toEqual([['text'], null])
  })

  test('does not require what the server fills in', async () => {
    expect((await schemaOf('ChatCompletionRequest')).required).toEqual(['messages'])
    expect((await schemaOf('OllamaChatRequest')).required).toEqual(['model'])
  })
})

describe('what the document says of failures', () => {
  test('every route refuses a body that is not an object in the form that it names', async () => {
    const { app } = openFullServer()
    const document = await readFullDocument()
    const judge = createJudge(document)
    const posts = operationsOf(document).filter(
      ({ operation }) => operation.requestBody?.content['application/json'] !== undefined,
    )
    expect(posts.length).toBeGreaterThan(50)
    for (const { name, method, path, operation } of posts) {
      const headers = { 'content-type': 'application/json' }
      const reply = await app.inject({ method: method as 'POST', url: path.replaceAll(/\{\w+\}/g, 'x'), headers, payload: '[1' })
      const got = { status: reply.statusCode, type: String(reply.headers['content-type']), text: reply.body }
      expect(() => judge.checkReply(operation, got), name).not.toThrow()
      // These read what they can: a client that gives up does not read a refusal.
      if (!/cancel$|abort$/.test(path)) expect(got.status, name).toBe(400)
    }
  })
})

describe('what the document says of replies that need more than a scripted model', () => {
  const fake = createFakeEngine({ script: 'from-request' })
  const ranker = { rank: async () => ({ scores: [0.5, 1], areProbabilities: false, inputTokens: 4 }) }
  const engine: Engine = {
    ...fake,
    capabilities: { ...fake.capabilities, ranker } as never,
    prepare: ({ prompt, ...request }, signal) => {
      const text = prompt.type === 'infill' ? prompt.prefix + prompt.suffix : ''
      return fake.prepare({ ...request, prompt: { type: 'text', text } }, signal)
    },
  }
  const lifecycle = {
    chosen: () => undefined,
    active: () => ({ id: 'org/fake' }),
    load: async ({ settings }: LoadRequest) => ({ model: { settings }, isNew: true }),
  }

  let server: ReturnType<typeof createTestServer>
  let document: OpenapiDocument
  let judge: ReturnType<typeof createJudge>
  beforeAll(async () => {
    server = createTestServer({ engine, lifecycle: lifecycle as never })
    document = await readDocument(server.app)
    judge = createJudge(document)
  })
  afterAll(() => server.drain(0))

  test.each([
    ['/v1/rerank', { return_documents: true }],
    ['/v1/inference/rerank', {}],
    ['/infill', {}],
    ['/infill', { stream: true }],
    ['/v1/lora/load', {}],
    ['/v1/lora/unload', {}],
  ])('POST %s, with %j', async (url, more) => {
    const operation = document.paths[url]?.post
    if (operation === undefined) throw new Error('there is no such route')
    const payload = { ...operation.requestBody?.content['application/json']?.example, ...more }
    const reply = await server.app.inject({ method: 'POST', url, payload })
    expect(reply.statusCode, reply.body).toBe(200)
    judge.checkReply(operation, { status: 200, type: String(reply.headers['content-type']), text: reply.body })
  })
})

describe('GET /docs', () => {
  test('needs no address but its own, and allows no other', async () => {
    const { body, headers } = await openTestServer().app.inject({ url: '/docs' })
    expect(body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['cross-origin-opener-policy']).toBe('same-origin')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; connect-src 'self'; script-src 'sha256-/)
  })

  test('has the colours of the page, and leads to it', async () => {
    const { body } = await openTestServer().app.inject({ url: '/docs' })
    const page = await readFile('web/src/styles/base.css', 'utf8')
    const colours = body.match(/--\w+: light-dark\([^)]+\)/g) ?? []
    expect(colours.length).toBeGreaterThan(7)
    for (const colour of colours) expect(page).toContain(`${colour};`)
    expect(body).toContain('<a href="./">Chat</a>')
  })

  test.each(['/docs/', '/docs/?x=1'])('%s leads to the page, whose URLs are relative', async (url) => {
    const { statusCode, headers } = await openTestServer().app.inject({ url })
    expect([statusCode, headers.location]).toEqual([302, '../docs'])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { goldenDialects } from '../../support/golden-dialects.ts'
import { openDescribed, refused, statusOf } from '../../support/http/described-server.ts'
import { generatorHint, isGeneratorInstalled, OpenapiClient } from '../../support/http/openapi-client.ts'
import type { Got } from '../../support/http/openapi-judge.ts'

let server: Awaited<ReturnType<typeof openDescribed>>
/** What the server answered, by the names of calls. */
const recorded = new Map<string, Got>()
beforeAll(async () => {
  server = await openDescribed()
})
afterAll(() => server.close())

describe('each route of the OpenAPI document', () => {
  test('takes its example and answers as its schema says, with no key that the schema lacks', async () => {
    const faults: string[] = []
    for (const call of server.calls()) {
      const { name, operation } = call
      try {
        if (call.json !== undefined) server.judge.checkBody(operation, call.json)
        const got = await server.send(call)
        recorded.set(name, got)
        server.judge.checkReply(operation, got)
        expect(got.status, got.text.slice(0, 300)).toBe(statusOf(call))
      } catch (error) {
        faults.push(`${name}: ${String(error)}`)
      }
    }
    expect(faults).toEqual([])
  })
})

describe('streams and richer replies are those of the document', () => {
  const script = JSON.stringify({
    chunks: [
      '<think>Short',
      ' or long?</think>',
      'I look.',
      '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>',
    ],
  })
  /** An answer, in whole or as a stream, judged by its operation. */
  const ask = async (path: string, json: object) => {
    const operation = server.document.paths[path]?.post
    if (operation === undefined) throw new Error(`there is no route ${path}`)
    server.judge.checkBody(operation, json)
    const got = await server.send({ name: path, method: 'POST', path, params: {}, operation, json })
    expect(got.status, got.text.slice(0, 300)).toBe(200)
    server.judge.checkReply(operation, got)
    return got
  }

  test.each(goldenDialects.map((dialect) => [dialect.path, dialect] as const))(
    'POST %s: thoughts and calls',
    async (path, { body }) => {
      for (const stream of [false, true]) {
        const got = await ask(path, { ...body(script, { stream, tool: 'function' }) })
        expect(got.text).toContain('weather')
        expect(got.type.startsWith('application/json')).toBe(!stream)
      }
    },
  )

  test.each([
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Good morning.' }], logprobs: true, top_logprobs: 2, n: 2, stop: ['.'] },
    ],
    ['/v1/completions', { prompt: ['a', 'b'], logprobs: 2, echo: true }],
    ['/completion', { prompt: ['a', 'b'], n_probs: 2 }],
    ['/completion', { prompt: 'a', response_fields: ['content', 'timings/prompt_n'] }],
    ['/api/chat', { model: 'default', messages: [{ role: 'user', content: 'Good morning.' }], logprobs: true, top_logprobs: 2 }],
    ['/api/generate', { model: 'default', prompt: 'Good morning.' }],
    ['/v1/inference/completion', { content: 'Good morning.', logprobs: { top_k: 1 } }],
    ['/v1/embeddings', { input: 'Good morning.', encoding_format: 'base64' }],
    ['/tokenize', { prompt: 'Good morning.' }],
  ])('POST %s: %j', async (path, json) => {
    await ask(path, { ...json, stream: false })
    if (/complet|api|inference/.test(path)) await ask(path, { ...json, stream: true })
  })
})

describe.skipIf(!isGeneratorInstalled)(`a client that openapi-typescript makes of the document${generatorHint}`, () => {
  let fresh: typeof server
  let client: OpenapiClient
  beforeAll(async () => {
    fresh = await openDescribed()
    client = await OpenapiClient.generate(fresh)
  })
  afterAll(async () => {
    await client.close()
    await fresh.close()
  })

  test('type-checks with every example and every reply that was recorded', async () => {
    expect(recorded.size).toBeGreaterThan(100)
    expect(await client.typeErrors(recorded)).toEqual('')
  })

  test('calls every route', async () => {
    const got = await client.run()
    expect(got.size).toBe(fresh.calls().length)
    const unexpected = fresh.calls().filter((call) => got.get(call.name) !== statusOf(call))
    expect(unexpected.map(({ name }) => `${name}: ${got.get(name)}`)).toEqual([])
    expect(Object.keys(refused).filter((name) => !got.has(name))).toEqual([])
  })
})

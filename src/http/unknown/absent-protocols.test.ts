import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'

describe('a protocol that is not there says so in its own envelope', () => {
  const served = /Dragoman does not speak .* it serves POST \/v1\/chat\/completions/
  test.each<['GET' | 'POST', string, number, object]>([
    ['POST', '/v1beta/models/gemini-pro:generateContent', 404, { error: { status: 'NOT_FOUND' } }],
    ['GET', '/v1/vector_stores', 400, { error: { code: 'unsupported_protocol', detail: expect.stringMatching(served) } }],
    ['POST', '/v1/openai/v1/moderations', 400, { error: { code: 'unsupported_protocol' } }],
    ['POST', '/v1/agents', 501, { error: { detail: expect.stringMatching(served) } }],
    ['GET', '/v1/scoring-functions', 501, { error: { detail: expect.stringMatching(served) } }],
    ['POST', '/v1alpha/post-training/job', 501, { error: { detail: expect.stringMatching(served) } }],
    ['POST', '/v1beta/datasets', 501, { error: { detail: expect.stringMatching(served) } }],
  ])('%s %s', async (method, url, status, body) => {
    const { app, logLines } = openTestServer()
    const reply = await app.inject({ method, url })
    expect([reply.statusCode, reply.json()]).toMatchObject([status, body])
    expect(logLines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ msg: 'request ended', path: url.split('?')[0], status }),
    )
  })

  test('a header asks clients not to repeat a request that is not implemented', async () => {
    const reply = await openTestServer().app.inject({ method: 'POST', url: '/v1/agents' })
    expect([reply.statusCode, reply.headers['x-should-retry']]).toEqual([501, 'false'])
  })

  test('a protocol of the caller stays its own', async () => {
    const { app } = openTestServer()
    expect((await app.inject({ method: 'POST', url: '/v1/message' })).json().error.code).toBe('unknown_url')
  })
})

describe('a path with another prefix is told the right one', () => {
  test.each([
    ['POST', '/openai/v1/chat/completions', '/v1/chat/completions'],
    ['POST', '/openai/v1/embeddings', '/v1/embeddings'],
    ['GET', '/openai/v1/models/', '/v1/models'],
    ['POST', '/v1/detokenize', '/detokenize'],
    ['POST', '/api/v1/messages', '/v1/messages'],
  ] as const)('%s %s', async (method, url, route) => {
    const reply = await openTestServer().app.inject({ method, url })
    expect([reply.statusCode, reply.json().error.code]).toEqual([404, 'unknown_url'])
    expect(reply.json().error.message).toContain(`did you mean ${route}?`)
  })

  test('a path below /api that nothing is like gets the other base URL, in one sentence', async () => {
    const { message } = (await openTestServer().app.inject('/api/nothing')).json().error
    expect(message).toBe('there is no route GET /api/nothing: use /v1 as the base URL of an OpenAI-compatible server')
  })

  test.each(['/nothing', '/v1', '/v1/nothing'])('nothing is suggested for %s', async (url) => {
    expect((await openTestServer().app.inject(url)).json().error.message).not.toContain('did you mean')
  })
})

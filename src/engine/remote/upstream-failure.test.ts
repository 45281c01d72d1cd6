import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { answer, ask, engineOver, failure, fine, logLines, refusing, upstream } from '../../../test/support/remote-engine.ts'
import { streamOf } from '../../../test/support/upstream.ts'

const html = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

describe('what a server refuses', () => {
  test.each([
    [400, '{"error":{"message":"no such thing"}}', { code: 'invalid-request', status: 400, message: 'no such thing' }],
    [422, '{"detail":[{"msg":"field required"}]}', { code: 'invalid-request', status: 400 }],
    [413, '', { code: 'body-too-large', status: 413 }],
    [401, '{"error":{"message":"Incorrect API key provided: sk-very-secret"}}', { code: 'model-unavailable', status: 503 }],
    [403, 'forbidden', { code: 'model-unavailable', status: 503 }],
    [404, '{"detail":"Not Found"}', { code: 'model-unavailable', status: 503 }],
    [301, '', { code: 'model-unavailable', status: 503 }],
    [429, '{"error":"slow down"}', { code: 'queue-full', status: 429 }],
    [500, html, { code: 'engine-failed', status: 500, message: 'the server behind this model failed: 502 Bad Gateway' }],
    [500, 'echo sk-very-secret', { code: 'engine-failed', status: 500 }],
    [503, '{"error":{"message":"Loading model"}}', { code: 'model-unavailable', status: 503 }],
  ])('with %i and %s is told in our words', async (status, body, wanted) => {
    logLines.length = 0
    const server = await upstream(refusing(status, body, { location: 'http://elsewhere/v1?key=abc' }))
    const error = await failure(engineOver([server]))
    expect(error).toMatchObject(wanted)
    expect(`${error.message}${logLines.join('')}`).not.toContain('sk-very-secret')
    expect(error.message).not.toContain('key=abc')
    expect(error.message).not.toContain('<')
  })

  test('how long to wait is passed on', async () => {
    const server = await upstream(refusing(429, '{}', { 'retry-after': '120' }))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'queue-full', retryAfterMs: 120_000 })
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    ['an endless page', 'x'.repeat(5_000_000), {}],
    ['a compressed page', gzipSync('boom'), { 'content-encoding': 'gzip' }],
  ])('%s is no more than a status', async (_, body, headers) => {
    const server = await upstream(refusing(400, body, headers))
    const error = await failure(engineOver([server]))
    expect(error.code).toBe('invalid-request')
    expect(error.message.length).toBeLessThan(600)
    expect(error.message).toMatch(/^[ -~…]*$/)
  })

  test.each([
    ['a page instead of a reply', refusing(200, html, { 'content-type': 'text/html' })],
    ['a compressed reply', refusing(200, gzipSync('{}'), { 'content-encoding': 'gzip' })],
    ['an error in a whole reply', refusing(200, '{"error":{"message":"boom"}}')],
    ['an error as the first event', streamOf('data: {"error":{"message":"boom","code":500}}\n\n')],
    ['an event named error', streamOf('event: error\ndata: {"message":"boom"}\n\n')],
    ["vLLM's older error", streamOf('data: {"object":"error","message":"boom","code":500}\n\n')],
    ['nothing at all', streamOf()],
    ['a key that it does not accept', refusing(401, '')],
    ['a model that it does not have', refusing(404, '')],
  ])('%s is a reason to ask another one', async (_, bad) => {
    const [broken, sound] = [await upstream(bad), await upstream(fine)]
    const engine = engineOver([broken, sound])
    for (let turn = 0; turn < 3; turn++) expect((await answer(engine, ask(`hi ${turn}`))).choices[0]?.text).toBe('ok')
    expect(broken.seen.length).toBeGreaterThan(0)
  })

  test.each([
    ['a code', { message: 'bad schema', code: 400 }],
    ['a type', { message: 'bad schema', type: 'invalid_request_error' }],
  ])("an error in a stream that is the caller's, by %s, is the caller's", async (_, error) => {
    const server = await upstream(streamOf(`data: ${JSON.stringify({ error })}\n\n`))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'invalid-request', message: 'bad schema' })
    expect(server.seen).toHaveLength(1)
  })
})

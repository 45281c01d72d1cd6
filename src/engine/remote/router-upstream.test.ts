import { expect, test } from 'vitest'
import { textsOf } from '../../../test/support/parts.ts'
import { answer, ask, engineOver, failure, fine, refusing, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, openStream, usageChunk } from '../../../test/support/upstream/upstream.ts'

/** An engine over one router, whose engines are of kind vLLM. */
async function routerThat(reply: Answer) {
  const router = await upstream(reply)
  const engine = engineOver([router], { endpoints: [{ url: router.url, weight: 1, isRouter: true }], profile: 'vllm' })
  return { router, engine }
}

test.each<[string, Answer, object]>([
  [
    "Ray's back-pressure",
    refusing(503, 'Request dropped due to backpressure (num_queued_requests=2).', { 'content-type': 'text/plain' }),
    { code: 'model-unavailable', message: expect.stringContaining('dropped due to backpressure'), retryAfterMs: 1000 },
  ],
  [
    "a proxy's page",
    refusing(502, '<html><head><title>502 Bad Gateway</title></head></html>', { 'content-type': 'text/html' }),
    { code: 'upstream-failed', message: expect.stringContaining('502 Bad Gateway') },
  ],
  ['a limit', refusing(429, 'slow down', { 'retry-after': '18' }), { code: 'queue-full', retryAfterMs: 18_000 }],
  ['a page instead of a reply', refusing(200, '<html></html>', { 'content-type': 'text/html' }), { code: 'upstream-failed' }],
])('%s, which is not JSON, is one clean error after one attempt', async (_, reply, expected) => {
  const { router, engine } = await routerThat(reply)
  expect(await failure(engine)).toMatchObject(expected)
  expect(router.seen).toHaveLength(1)
})

test('a stream that breaks is continued by the router, with what it had said', async () => {
  const counted = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => chatChunk({ delta: { content: `${from + index} ` } })).join('')
  let calls = 0
  const { router, engine } = await routerThat((_, response) => {
    openStream(response)
    calls += 1
    if (calls > 1) {
      response.end(counted(3, 6) + chatChunk({ delta: {}, finish_reason: 'stop' }) + usageChunk(4, 3) + doneLine)
      return
    }
    response.write(counted(0, 3))
    // After its bytes have left.
    setTimeout(() => response.destroy(), 50)
  })
  expect(textsOf(await answer(engine, ask('count')))).toEqual(['0 1 2 3 4 5 '])
  expect(router.seen).toHaveLength(2)
  expect(router.seen[1]?.body.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: '0 1 2 ' }])
})

test('a connection that breaks before the first token is tried once more', async () => {
  let calls = 0
  const { router, engine } = await routerThat((request, response) => {
    calls += 1
    if (calls === 1) response.destroy()
    else return fine(request, response)
  })
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  expect(router.seen).toHaveLength(2)
})

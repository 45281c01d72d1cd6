import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { stackRoutes } from '../routes/routes-llama-stack.ts'

const messages = [{ role: 'user', content: 'hi' }]
const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages },
  '/v1/completions': { prompt: 'hi' },
  '/v1/responses': { input: 'hi' },
  '/v1/responses/input_tokens': { input: 'hi' },
  '/v1/messages': { messages, max_tokens: 9 },
  '/v1/messages/count_tokens': { messages },
  '/v1/embeddings': { input: 'hi' },
  '/v1/inference/embeddings': { contents: ['hi'] },
  '/v1/inference/chat-completion': { messages },
  '/v1/inference/completion': { content: 'hi' },
  '/v1/inference/batch-chat-completion': { messages_batch: [messages] },
  '/v1/batch-inference/completion': { content_batch: ['hi'] },
}

test.each(Object.entries(bodies))('POST %s without a model, or with null, is for the default model', async (url, payload) => {
  const { app } = openTestServer()
  const field = stackRoutes.some(({ paths }) => paths.some((path) => path === url)) ? 'model_id' : 'model'
  for (const body of [payload, { ...payload, [field]: null }]) {
    const { statusCode, body: text } = await app.inject({ method: 'POST', url, payload: body })
    expect([statusCode, statusCode === 200 ? '' : text]).toEqual([200, ''])
  }
})

test.each(['/v1/rerank', '/v1/score/evaluation'])('POST %s without a model asks the default model', async (url) => {
  const engine = createFakeEngine({ script: 'from-request' })
  const rank = async () => ({ scores: [0.5], areProbabilities: true, inputTokens: 1 })
  const ranks = {
    ...engine,
    facts: { ...engine.facts, ranks: true as const },
    capabilities: { ...engine.capabilities, ranker: { rank } },
  }
  const { app } = openTestServer({ engine: ranks })
  const { statusCode, json } = await app.inject({
    method: 'POST',
    url,
    payload: { query: 'a', documents: ['b'], messages: ['b'] },
  })
  expect([statusCode, json().model]).toEqual([200, 'org/fake'])
})

import { expect, test } from 'vitest'
import { otherPathsOf, pathOn, routedAs } from './mounts.ts'

test.each([
  ['/v1/openai/v1/chat/completions', '/v1/chat/completions'],
  ['/v1/openai/v1/models', '/v1/models'],
  ['/v1/openai/v1/models/org/name', '/v1/models/org/name'],
  ['/v1/openai/v1/responses/resp_1?stream=true', '/v1/responses/resp_1?stream=true'],
])('%s means %s', (url, route) => {
  expect(routedAs(url)).toEqual({ route, surface: 'llama-stack' })
})

test.each([
  ['/chat/completions', '/v1/chat/completions'],
  ['/chat/completions/input_tokens', '/v1/chat/completions/input_tokens'],
  ['/responses?x=1', '/v1/responses?x=1'],
  ['/models', '/v1/models'],
  ['/models?reload=1', '/v1/models?reload=1'],
  ['/reranking', '/v1/rerank'],
  ['/v1/reranking', '/v1/rerank'],
  ['/v2/rerank', '/v1/rerank'],
  ['/api/v0/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/messages', '/v1/messages'],
  ['/v1/v1/messages/count_tokens?beta=true', '/v1/messages/count_tokens?beta=true'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
])('%s, of another server or a base URL, means %s', (url, route) => {
  expect(routedAs(url).route).toBe(route)
})

test.each(['/models/load', '/completions', '/embeddings', '/api/v0/models', '/v1/v1/x'])('%s is a route of its own', (url) => {
  expect(routedAs(url).route).toBe(url)
})

test.each(['/v1/models', '/v1/openai/v1/messages', '/v1/openai/v1/modelsx', '/v1/openai', '/x/v1/openai/v1/models'])(
  '%s stays itself',
  (url) => {
    expect(routedAs(url)).toEqual({ route: url })
  },
)

test('paths of OpenAI can be written with the prefix', () => {
  expect(['/v1/models/*', '/v1/messages'].map((path) => pathOn('llama-stack', path))).toEqual([
    '/v1/openai/v1/models/*',
    undefined,
  ])
})

test.each([
  [
    '/v1/chat/completions',
    ['/chat/completions', '/v1/openai/v1/chat/completions', '/api/inference/chat/completions', '/api/v0/chat/completions'],
  ],
  ['/v1/files', ['/v1/openai/v1/files']],
  ['/v1/rerank', ['/rerank', '/reranking', '/v1/reranking', '/v2/rerank']],
  ['/api/inference/status', ['/v1/status']],
  ['/health', []],
])('the other paths of %s are those that mean it: %j', (path, others) => {
  expect(otherPathsOf(path)).toEqual(others)
})

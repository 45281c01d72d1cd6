import { expect, test } from 'vitest'
import { operationOf } from './genai.ts'

test.each([
  ['/v1/chat/completions', 'chat'],
  ['/v1/responses', 'chat'],
  ['/api/chat', 'chat'],
  ['/v1/completions', 'text_completion'],
  ['/completion', 'text_completion'],
  ['/infill', 'text_completion'],
  ['/api/generate', 'text_completion'],
  ['/api/v1/generate', 'text_completion'],
  ['/api/extra/generate/stream', 'text_completion'],
  ['/v1/embeddings', 'embeddings'],
  ['/api/embed', 'embeddings'],
  ['/embedding', 'embeddings'],
  ['/v1/rerank', undefined],
])('the operation of %s is %s', (route, operation) => {
  expect(operationOf(route)).toBe(operation)
})

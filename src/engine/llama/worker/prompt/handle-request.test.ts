import { expect, test } from 'vitest'
import type { WorkerModel } from '../model/model.ts'
import { handleRequest } from './handle-request.ts'

const tooLong = 'x'.repeat(1024 * 1024 + 1)

/** A ranking model without a tokenizer: reading a text fails. */
const loaded = { embedder: { pooling: 'rank' }, model: {} } as unknown as WorkerModel

test.each([
  [['query'], { type: 'rank', query: tooLong, texts: ['a'] }],
  [['texts', 0], { type: 'rank', query: 'a', texts: [tooLong] }],
] as const)('a text at %j that would block the worker is refused before it is read', async (at, request) => {
  await expect(handleRequest(loaded, { ...request, texts: [...request.texts] }, () => false)).rejects.toMatchObject({
    code: 'invalid-request',
    at,
  })
})

import { expect, test } from 'vitest'
import { encodeModelCard } from './model-card.ts'

const entry = { id: 'm', aliases: ['a'], createdAtMs: 5000, state: { type: 'ready' }, contextLength: 100 } as const
const parametersOf = (settings: Parameters<typeof encodeModelCard>[2]) =>
  encodeModelCard(entry, { slots: 2, contextLength: 100 }, settings).parameters

test('the card of a model says what it was loaded with', () => {
  const settings = { cacheTypeK: 'q8_0', cacheTypeV: 'q4_0', batchSize: 64, draftModel: 'small.gguf' } as const
  expect(parametersOf(settings)).toEqual({
    max_seq_len: 100,
    max_batch_size: 2,
    cache_size: 200,
    cache_mode: 'Q8,Q4',
    chunk_size: 64,
    draft: expect.objectContaining({
      id: 'small.gguf',
      object: 'model',
      created: 5,
      owned_by: 'dragoman',
      state: 'ready',
      loaded: true,
      aliases: [],
      parameters: {},
    }),
  })
})

test.each([
  [{ cacheTypeK: 'q8_0' }, 'Q8,FP16'],
  [{ cacheTypeK: 'f16', cacheTypeV: 'f16' }, 'FP16'],
  [{ cacheTypeK: 'q5_1', cacheTypeV: 'q5_1' }, 'q5_1'],
  [{}, undefined],
] as const)('a cache of %j is %s', (settings, mode) => {
  expect(parametersOf(settings).cache_mode).toBe(mode)
})

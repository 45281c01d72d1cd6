import { expect, test } from 'vitest'
import type { LlamaModelConfig } from '../../config/schema.ts'
import { dimensionsOf } from './dimensions.ts'

const plain = { engine: 'llama', id: 'm', flashAttention: true } as LlamaModelConfig

/** The labels of the values of each dimension, the present one first. */
function valuesOf(settings: Partial<LlamaModelConfig>, { expertLayers = 0, headLayers = 0 } = {}) {
  const dimensions = dimensionsOf({ ...plain, ...settings }, { cores: 4, expertLayers, headLayers })
  return Object.fromEntries(dimensions.map(({ name, values }) => [name, values.map(({ label }) => label)]))
}

test('threads, attention, batches and caches of any model are tried, the present values first', () => {
  expect(valuesOf({ batchSize: 256 })).toEqual({
    threads: ['default', '4', '3', '2', '1'],
    flashAttention: ['true', 'false'],
    batchSize: ['256', '128', '512', '1024', '2048'],
    'cache types': ['default, default', 'q8_0, q8_0'],
  })
})

test('caches of other types are tried before attention that does not have them', () => {
  const names = Object.keys(valuesOf({}))
  expect(names.indexOf('cache types')).toBeLessThan(names.indexOf('flashAttention'))
})

test('experts are tried where there is a GPU beside the memory of the machine', () => {
  expect(valuesOf({}, { expertLayers: 40 }).experts).toEqual(['default', '0', '10', '20', '30', '40'])
})

test('layers that predict further tokens draft where the model has some, unless another model does', () => {
  const heads = { headLayers: 1 }
  expect(valuesOf({}, heads).speculation).toEqual(['none', 'mtp, 1 tokens', 'mtp, 2 tokens', 'mtp, 3 tokens', 'mtp, 4 tokens'])
  expect(valuesOf({ speculation: { type: 'ngram', maxTokens: 8 } }, heads).speculation?.[0]).toBe('ngram, 8 tokens')
  const { draft, ...others } = valuesOf({ draft: { maxTokens: 4 } as NonNullable<LlamaModelConfig['draft']> }, heads)
  expect(draft).toEqual(['4 tokens', 'none', '2 tokens', '8 tokens', '16 tokens'])
  expect(others).not.toHaveProperty('speculation')
})

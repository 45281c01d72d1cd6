import { describe, expect, test } from 'vitest'
import { resolveSampling } from './resolve-sampling.ts'

describe('resolveSampling', () => {
  test("missing parameters have llama.cpp's defaults, without penalties", () => {
    expect(resolveSampling({ request: {} })).toMatchObject({
      temperature: 0.8,
      topP: 0.95,
      topK: 40,
      minP: 0.05,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      logitBias: new Map(),
    })
  })

  test("the request wins over the model's defaults, also with 0", () => {
    const model = { temperature: 0.3, topK: 7, minP: 0.2 }
    expect(resolveSampling({ request: { temperature: 0, minP: 0 }, config: model })).toMatchObject({
      temperature: 0,
      topK: 7,
      minP: 0,
    })
  })

  test('the request wins over the configuration, and that over the file of the model, field by field', () => {
    const resolved = resolveSampling({
      file: { temperature: 0.1, topK: 5, minP: 0.3, xtc: { probability: 0.5, threshold: 0.4 }, repetitionRange: 64 },
      config: { topK: 6, minP: 0.2, dry: { multiplier: 1 } },
      request: { minP: 0, xtc: { probability: 0 }, dry: { base: 3 } },
    })
    expect(resolved).toMatchObject({
      temperature: 0.1,
      topK: 6,
      minP: 0,
      topP: 0.95,
      repetitionRange: 64,
      xtc: { probability: 0, threshold: 0.4 },
      dry: { multiplier: 1, base: 3, allowedLength: 2, range: -1, sequenceBreakers: ['\n', ':', '"', '*'] },
    })
  })

  test('numbers above 32 bits become the largest one and do not wrap around', () => {
    const dry = { multiplier: 1, base: 1.75, allowedLength: 1e12, range: 1e12, sequenceBreakers: [] }
    const resolved = resolveSampling({ request: { topK: 2 ** 32 + 1, dry } })
    expect(resolved).toMatchObject({ topK: 2 ** 31 - 1, dry: { allowedLength: 2 ** 31 - 1, range: 2 ** 31 - 1 } })
  })

  test('a missing seed is different each time', () => {
    expect(new Set(Array.from({ length: 20 }, () => resolveSampling({ request: {} }).seed)).size).toBeGreaterThan(15)
  })

  test('the seed that llama.cpp would replace by a random one is changed', () => {
    expect(resolveSampling({ request: { seed: 2 ** 32 - 1 } }).seed).toBe(2 ** 32 - 2)
    expect(resolveSampling({ request: { seed: 0 } }).seed).toBe(0)
  })
})

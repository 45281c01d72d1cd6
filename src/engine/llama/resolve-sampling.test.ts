import { describe, expect, test } from 'vitest'
import { resolveSampling } from './resolve-sampling.ts'

describe('resolveSampling', () => {
  test("what nobody says is llama.cpp's default, without penalties", () => {
    expect(resolveSampling({}, {})).toMatchObject({
      temperature: 0.8,
      topP: 0.95,
      topK: 40,
      minP: 0.05,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      logitBias: [],
    })
  })

  test("the request wins over the model's defaults, also with 0", () => {
    const model = { temperature: 0.3, topK: 7, minP: 0.2 }
    expect(resolveSampling({ temperature: 0, minP: 0 }, model)).toMatchObject({ temperature: 0, topK: 7, minP: 0 })
  })

  test('numbers beyond 32 bits mean the largest there is, not what is left of their bits', () => {
    const dry = { multiplier: 1, base: 1.75, allowedLength: 1e12, range: 1e12, sequenceBreakers: [] }
    const resolved = resolveSampling({ topK: 2 ** 32 + 1, dry }, {})
    expect(resolved).toMatchObject({ topK: 2 ** 31 - 1, dry: { allowedLength: 2 ** 31 - 1, range: 2 ** 31 - 1 } })
  })

  test('a missing seed is different each time', () => {
    expect(new Set(Array.from({ length: 20 }, () => resolveSampling({}, {}).seed)).size).toBeGreaterThan(15)
  })

  test('the seed that llama.cpp takes for "any" is one of its own', () => {
    expect(resolveSampling({ seed: 2 ** 32 - 1 }, {}).seed).toBe(2 ** 32 - 2)
    expect(resolveSampling({ seed: 0 }, {}).seed).toBe(0)
  })
})

import { describe, expect, test } from 'vitest'
import { resolveSampling } from '../../channel/resolve-sampling.ts'
import { createBiases, samplerSteps } from './sampling.ts'

const model = { size: 10, vocabulary: 1n as never }
const source = { model, prompt: Uint32Array.from([1, 2, 3, 4]), contextLength: 100 }
const stepsOf = (request: Parameters<typeof resolveSampling>[0]['request']) =>
  samplerSteps(resolveSampling({ request: { seed: 7, ...request } }), source)

/** As `llama_sampler_init_penalties` has them. */
const penalties = (range: number, ...values: readonly number[]) => [
  ['int', model.size],
  ['int', range],
  ...values.map((value) => ['float', value]),
]

describe('the samplers of a choice', () => {
  test('the samplers are in the order of llama.cpp', () => {
    const all = {
      repetitionPenalty: 1.1,
      presencePenalty: 0.5,
      dry: { multiplier: 0.8 },
      xtc: { probability: 0.5 },
      temperature: 0.7,
    }
    expect(stepsOf(all).map(({ type }) => type)).toEqual([
      'penalties',
      'penalties',
      'dry',
      'top_k',
      'top_p',
      'min_p',
      'xtc',
      'temp_ext',
      'dist',
    ])
  })

  test('rare samplers stand where llama.cpp has them', () => {
    const types = (request: Parameters<typeof stepsOf>[0]) => stepsOf(request).map(({ type }) => type)
    expect(types({ topNSigma: 1, typicalP: 0.5, xtc: { probability: 0.5 }, adaptiveP: { target: 0.3 } })).toEqual([
      'top_n_sigma',
      'top_k',
      'typical',
      'top_p',
      'min_p',
      'xtc',
      'temp_ext',
      'adaptive_p',
    ])
    expect(types({ dry: { multiplier: 1 }, mirostat: { version: 2 } })).toEqual(['dry', 'temp_ext', 'mirostat_v2'])
  })

  test('the temperature comes first where the request says so', () => {
    expect(stepsOf({ temperatureLast: false }).map(({ type }) => type)).toEqual(['temp_ext', 'top_k', 'top_p', 'min_p', 'dist'])
  })

  test('samplers that are switched off are left out', () => {
    const off = { topNSigma: 0, typicalP: 1, mirostat: { version: 0 }, adaptiveP: { target: -1 } }
    expect(stepsOf(off)).toEqual(stepsOf({}))
  })

  test('greedy samplers remove nothing by chance', () => {
    expect(stepsOf({ temperature: 0 })).toEqual([{ type: 'greedy', args: [] }])
  })

  test("samplers penalize repetition in the last tokens of the prompt too, and OpenAI's penalties apply to the output only", () => {
    const [repetition, output] = stepsOf({ repetitionPenalty: 1.1, repetitionRange: 3, frequencyPenalty: 0.5 })
    expect(repetition).toEqual({ type: 'penalties', args: penalties(3, 1.1, 0, 0), history: Uint32Array.from([2, 3, 4]) })
    expect(output).toEqual({ type: 'penalties', args: penalties(100, 1, 0.5, 0) })
  })

  test('samplers look for repetitions in the whole context where no range is set', () => {
    const dry = stepsOf({ dry: { multiplier: 1 } }).find(({ type }) => type === 'dry')
    expect(dry).toMatchObject({ args: expect.arrayContaining([['int', 100]]), history: source.prompt })
  })

  test('repetition is not penalized without a range', () => {
    expect(stepsOf({ temperature: 0, repetitionPenalty: 2, repetitionRange: 0 })).toEqual([{ type: 'greedy', args: [] }])
  })
})

describe('biases', () => {
  const logitBias = new Map([
    [5, 2],
    [6, -100],
  ])
  const held = (asLastResort: boolean) => ({ tokens: [9 as never], until: 2, asLastResort })

  test('biases are those of the request, where -100 is never', () => {
    expect([...createBiases({ logitBias }, { size: 10, banned: [8 as never] })(0)]).toEqual([
      [5, 2],
      [6, Number.NEGATIVE_INFINITY],
      [8, Number.NEGATIVE_INFINITY],
    ])
  })

  test('biases hold tokens back until the output is long enough', () => {
    const biases = createBiases({ logitBias: new Map() }, { size: 10, banned: [], held: held(false) })
    expect([...biases(1)]).toEqual([[9, Number.NEGATIVE_INFINITY]])
    expect([...biases(2)]).toEqual([])
    expect(biases(0)).toBe(biases(1))
  })

  test('biases leave a token that is held back possible as the last resort', () => {
    const bias = createBiases({ logitBias: new Map() }, { size: 10, banned: [], held: held(true) })(0).get(9)
    expect(bias).toBeGreaterThan(Number.NEGATIVE_INFINITY)
    expect(bias).toBeLessThan(-1e6)
  })
})

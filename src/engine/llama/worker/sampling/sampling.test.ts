import { describe, expect, test } from 'vitest'
import { resolveSampling } from '../../channel/resolve-sampling.ts'
import { createBiases, samplerSteps } from './sampling.ts'

const source = { prompt: Uint32Array.from([1, 2, 3, 4]), contextLength: 100 }
const stepsOf = (request: Parameters<typeof resolveSampling>[0]['request']) =>
  samplerSteps(resolveSampling({ request: { seed: 7, ...request } }), source)

describe('the samplers of a choice', () => {
  test('are in the order of llama.cpp', () => {
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
      'top-k',
      'top-p',
      'min-p',
      'xtc',
      'temperature',
      'distribution',
    ])
  })

  test('that few requests have stand where llama.cpp has them', () => {
    const types = (request: Parameters<typeof stepsOf>[0]) => stepsOf(request).map(({ type }) => type)
    expect(types({ topNSigma: 1, typicalP: 0.5, xtc: { probability: 0.5 }, adaptiveP: { target: 0.3 } })).toEqual([
      'top-n-sigma',
      'top-k',
      'typical',
      'top-p',
      'min-p',
      'xtc',
      'temperature',
      'adaptive-p',
    ])
    expect(types({ dry: { multiplier: 1 }, mirostat: { version: 2 } })).toEqual(['dry', 'temperature', 'mirostat'])
  })

  test('change the temperature first where the request says so', () => {
    expect(stepsOf({ temperatureLast: false }).map(({ type }) => type)).toEqual([
      'temperature',
      'top-k',
      'top-p',
      'min-p',
      'distribution',
    ])
  })

  test('that are switched off are left out', () => {
    const off = { topNSigma: 0, typicalP: 1, mirostat: { version: 0 }, adaptiveP: { target: -1 } }
    expect(stepsOf(off)).toEqual(stepsOf({}))
  })

  test('that are greedy remove nothing by chance', () => {
    expect(stepsOf({ temperature: 0 })).toEqual([{ type: 'greedy' }])
  })

  test('penalize repetition in the last tokens of the prompt too, and what OpenAI penalizes in the output only', () => {
    const [repetition, output] = stepsOf({ repetitionPenalty: 1.1, repetitionRange: 3, frequencyPenalty: 0.5 })
    expect(repetition).toEqual({ type: 'penalties', range: 3, repetition: 1.1, history: Uint32Array.from([2, 3, 4]) })
    expect(output).toEqual({ type: 'penalties', range: 100, presence: 0, frequency: 0.5 })
  })

  test('look for repetitions in the whole context where no range is set', () => {
    const dry = stepsOf({ dry: { multiplier: 1 } }).find(({ type }) => type === 'dry')
    expect(dry).toMatchObject({ range: 100, history: source.prompt })
  })

  test('without a range of repetition are without its penalty', () => {
    expect(stepsOf({ temperature: 0, repetitionPenalty: 2, repetitionRange: 0 })).toEqual([{ type: 'greedy' }])
  })
})

describe('biases', () => {
  const logitBias = new Map([
    [5, 2],
    [6, -100],
  ])
  const held = (asLastResort: boolean) => ({ tokens: [9 as never], until: 2, asLastResort })

  test('are those of the request, where -100 is never', () => {
    expect([...createBiases({ logitBias }, { size: 10, banned: [8 as never] })(0)]).toEqual([
      [5, 2],
      [6, Number.NEGATIVE_INFINITY],
      [8, Number.NEGATIVE_INFINITY],
    ])
  })

  test('hold tokens back until the output is long enough', () => {
    const biases = createBiases({ logitBias: new Map() }, { size: 10, banned: [], held: held(false) })
    expect([...biases(1)]).toEqual([[9, Number.NEGATIVE_INFINITY]])
    expect([...biases(2)]).toEqual([])
    expect(biases(0)).toBe(biases(1))
  })

  test('leave a token that is held back possible where it is the last resort', () => {
    const bias = createBiases({ logitBias: new Map() }, { size: 10, banned: [], held: held(true) })(0).get(9)
    expect(bias).toBeGreaterThan(Number.NEGATIVE_INFINITY)
    expect(bias).toBeLessThan(-1e6)
  })
})

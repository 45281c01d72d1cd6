import { beforeAll, describe, expect, test } from 'vitest'
import type { Sampling } from '../../../src/contract/sampling.ts'
import type { Context, LogitIndex } from '../../../src/engine/llama/binding/context.ts'
import type { Library } from '../../../src/engine/llama/binding/library.ts'
import type { Model } from '../../../src/engine/llama/binding/model.ts'
import { int, SamplerChain, type SamplerStep } from '../../../src/engine/llama/binding/sampler-chain.ts'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import { resolveSampling } from '../../../src/engine/llama/channel/resolve-sampling.ts'
import { guided } from '../../../src/engine/llama/worker/sampling/guidance.ts'
import { samplerSteps } from '../../../src/engine/llama/worker/sampling/sampling.ts'
import { draw, isDrawnFrom, loadSamplers } from '../../support/llama/draws.ts'

const draws = 20_000
/** Not in order: samplers have to sort. */
const shares = [0.05, 0.3, 0.1, 0.02, 0.25, 0.2, 0.03, 0.05]
const logits = shares.map((share) => Math.log(share) + 3)
/** All samplers off that are on by default. */
const plain: Sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 11 }
const prompt = Uint32Array.from([4, 1, 5, 2])
const ofSize = { size: shares.length } as unknown as Model
const dist: SamplerStep = { type: 'dist', args: [['uint32_t', 11]] }

const normal = (weights: readonly number[]) => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}
const only = (...tokens: number[]) => normal(shares.map((share, token) => (tokens.includes(token) ? share : 0)))
const powered = (weights: readonly number[], power: number) => normal(weights.map((weight) => weight ** power))
const best = Math.max(...logits)
/** e^f(d) for the distance d of each logit from the highest. */
const bent = (f: (distance: number) => number) => normal(logits.map((logit) => Math.exp(f(logit - best))))
const sorted = [1, 4, 5, 2, 0, 7, 6, 3]
/** The share of [0, 1] that u -> u^exp(-skew) maps to each token, of the sorted ones. */
const skewed = (skew: number) => {
  const result = shares.map(() => 0)
  let sum = 0
  for (const token of sorted) {
    const before = sum
    sum += shares[token] as number
    result[token] = Math.min(1, sum) ** Math.exp(skew) - before ** Math.exp(skew)
  }
  return result
}
/** Each logit divided, or multiplied, by the penalty of its token. */
const penalized = (penalties: Readonly<Record<number, number>>) =>
  normal(
    logits.map((logit, token) => {
      const penalty = penalties[token] ?? 1
      return Math.exp(logit > 0 ? logit / penalty : logit * penalty)
    }),
  )

describe('samplers that llama.cpp lacks', () => {
  let library: Library
  beforeAll(async () => {
    library = await loadSamplers()
  })
  const drawn = (sampling: Sampling) => {
    const steps: SamplerStep[] = samplerSteps(resolveSampling({ request: { ...plain, ...sampling } }), {
      model: ofSize,
      prompt,
      contextLength: 100,
    })
    return draw(library, { steps, logits, draws })
  }

  test.each<[string, Sampling, readonly number[]]>([
    ['nothing', {}, shares],
    ['top-a that removes what is below 0.7 * 0.3^2', { topA: 0.7 }, only(1, 4, 5, 2)],
    ['top-a 1', { topA: 1 }, only(1, 4, 5, 2)],
    ['top-a that is low', { topA: 0.3 }, only(1, 4, 5, 2, 0, 7, 6)],
    // The second differences are 0, .05, .05, .05, .02, .01, the sum of them .18.
    ['tail-free 0.2', { tailFree: 0.2 }, only(1, 4)],
    ['tail-free 0.6', { tailFree: 0.6 }, only(1, 4, 5, 2)],
    ['tail-free 0.95', { tailFree: 0.95 }, only(1, 4, 5, 2, 0, 7)],
    ['smoothing', { smoothing: { factor: 0.3 } }, bent((d) => -0.3 * d ** 2)],
    ['smoothing with a curve', { smoothing: { factor: 0.3, curve: 2 } }, bent((d) => -0.15 * d ** 2 + 0.15 * d ** 3)],
    ['smoothing after the temperature', { temperature: 2, smoothing: { factor: 1 } }, bent((d) => -((d / 2) ** 2))],
    ['skew above 0', { skew: 0.8 }, skewed(0.8)],
    ['skew below 0', { skew: -0.8 }, skewed(-0.8)],
    ['all three that remove', { topA: 0.3, tailFree: 0.95, topK: 7 }, only(1, 4, 5, 2, 0)],
    ['a repetition penalty in its range', { repetitionPenalty: 1.8, repetitionRange: 2 }, penalized({ 5: 1.8, 2: 1.8 })],
    [
      'a repetition penalty that fades',
      { repetitionPenalty: 1.8, repetitionRange: 1, repetitionDecay: 4 },
      penalized({ 2: 1.8, 5: 1.8, 1: 1.6, 4: 1.4 }),
    ],
    ['temperature last', { temperature: 0.5, topP: 0.5, temperatureLast: true }, powered(only(1, 4), 2)],
    ['temperature first', { temperature: 0.5, topP: 0.4, temperatureLast: false }, only(1)],
    [
      'an order: temperature between top-p and top-a',
      { temperature: 2, topP: 0.9, topA: 0.9, samplerOrder: ['top-p', 'temperature', 'top-a'] },
      powered(only(1, 4, 5, 2, 0), 0.5),
    ],
    [
      'the same, the other way round',
      { temperature: 2, topP: 0.9, topA: 0.9, samplerOrder: ['top-a', 'temperature', 'top-p'] },
      powered(only(1, 4, 5, 2), 0.5),
    ],
  ])('with %s, each token is drawn as often as its formula says', (_, sampling, expected) => {
    const counts = drawn(sampling)
    expect(isDrawnFrom(expected, counts), `${counts} instead of ${expected.map((share) => Math.round(share * draws))}`).toBe(true)
    if (Object.keys(sampling).length > 0) expect(isDrawnFrom(shares, counts)).toBe(false)
  })

  test('guidance by a negative prompt', () => {
    const others = [0.1, 0.1, 0.2, 0.1, 0.1, 0.3, 0.05, 0.05]
    const negative = Float32Array.from(others, (share) => Math.log(share) - 2)
    const counts = draw(library, {
      steps: [dist],
      logits: [...guided(Float32Array.from(logits), { logits: negative, scale: 1.5 })],
      draws,
    })
    const expected = normal(shares.map((share, token) => share ** 1.5 * (others[token] as number) ** -0.5))
    expect(isDrawnFrom(expected, counts)).toBe(true)
    expect(isDrawnFrom(shares, counts)).toBe(false)
  })

  test('that are off cost nothing: a token is one call of llama.cpp', () => {
    const calls: string[] = []
    const counted = new Proxy(library, {
      get: (target, name) =>
        name === 'sample' ? () => calls.push('sample') : name === 'apply' ? () => calls.push('apply') : Reflect.get(target, name),
    })
    const off: Sampling = { topA: 0, tailFree: 1, smoothing: { factor: 0 }, skew: 0, repetitionDecay: 0, repetitionPenalty: 1.1 }
    const steps = samplerSteps(resolveSampling({ request: off }), { model: ofSize, prompt, contextLength: 100 })
    const chain = new SamplerChain({ size: shares.length, library: counted } as unknown as Model, steps)
    const context = { native: 0n, logits: () => calls.push('logits') } as unknown as Context
    chain.sample(context, 0 as LogitIndex)
    expect(calls).toEqual(['sample'])
    chain.free()
  })

  test('samplers that remember forget what is taken back', () => {
    const steps: SamplerStep[] = [
      { type: 'penalties', args: [int(shares.length), int(4), ['float', 5], ['float', 0], ['float', 0]], history: [5] },
      { type: 'fading', range: 4, penalty: 5, decay: 1, history: [5] },
      { type: 'greedy', args: [] },
    ]
    const chain = new SamplerChain({ size: shares.length, library } as unknown as Model, steps)
    const choose = () => chain.peek(Float32Array.from(logits), {})
    chain.accept(1 as Token)
    chain.accept(4 as Token)
    expect(choose()).toBe(2)
    chain.rewind([1 as Token])
    expect(choose()).toBe(4)
    chain.rewind([])
    expect(choose()).toBe(1)
    chain.free()
  })
})

import { expect } from 'vitest'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import type { Choice } from '../../engine-contract.ts'

/** Set by `npm run gpu-tests`. There a number depends on what else is computed in the same pass; on a processor so little that small models choose the same. */
export const isOnGpu = process.env.DRAGOMAN_TEST_GPU === '1'
/** Of log-probabilities of the most probable tokens after equal texts. */
const tolerance = 0.3

/** A request whose replies `expectSame` can compare: on a GPU it needs log-probabilities. */
export function comparable(request: GenerationRequest): GenerationRequest {
  return isOnGpu ? { ...request, logprobs: { top: 3 } } : request
}

/**
 * Asserts that two replies that were computed in different passes are the same. On a GPU a choice may differ between tokens that are close, and then
 * the rest does: the log-probabilities up to there must be near each other.
 */
export function expectSame(actual: Choice | undefined, expected: Choice | undefined, name?: string): void {
  if (!isOnGpu) {
    expect({ text: actual?.text, finishes: actual?.finishes }, name).toEqual({
      text: expected?.text,
      finishes: expected?.finishes,
    })
    return
  }
  const [ours = [], theirs = []] = [actual?.tokens, expected?.tokens]
  const [ids, expectedIds] = [ours, theirs].map((tokens) => tokens.map(({ id }) => id)) as [number[], number[]]
  // Also where they part.
  const compared = Math.min(lengthOfSame(ids, expectedIds) + 1, ids.length)
  expect(compared, name).toBeGreaterThan(0)
  for (const [index, { top }] of ours.slice(0, compared).entries()) {
    const [likeliest] = theirs[index]?.top ?? []
    const same = top.find(({ id }) => id === likeliest?.id)
    const distance = Math.abs((same?.logprob ?? Number.NaN) - (likeliest?.logprob ?? Number.NaN))
    expect(distance, `${name ?? 'reply'}, token ${index}`).toBeLessThan(tolerance)
  }
}

/** Asserts that these are the same log-probabilities of the same tokens; on a GPU, that they are near. */
export function expectScores(actual: readonly (number | null)[], expected: readonly (number | null)[]): void {
  if (!isOnGpu) {
    expect(actual).toEqual(expected)
    return
  }
  expect(actual).toHaveLength(expected.length)
  for (const [index, score] of actual.entries()) {
    expect(Math.abs((score ?? 0) - (expected[index] ?? 0)), `score ${index}`).toBeLessThan(tolerance)
  }
}

/** How many items two lists begin with alike. */
export function lengthOfSame<T>(one: readonly T[], other: readonly T[]): number {
  const end = one.findIndex((item, index) => item !== other[index])
  return end === -1 ? one.length : end
}

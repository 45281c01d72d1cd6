import type { Sampling } from './request.ts'

/**
 * Sampling in layers: each field is that of the last layer that says it. Those inside `xtc` and `dry` and the tokens of
 * `logitBias` count one by one.
 */
export function mergeSampling(...layers: readonly Sampling[]): Sampling {
  return layers.reduce(mergeTwo, {})
}

function mergeTwo(below: Sampling, above: Sampling): Sampling {
  if (Object.keys(below).length === 0) return above
  const xtc = mergeField(below.xtc, above.xtc)
  const dry = mergeField(below.dry, above.dry)
  const bias = [...(below.logitBias ?? []), ...(above.logitBias ?? [])]
  return {
    ...below,
    ...above,
    ...(xtc !== undefined && { xtc }),
    ...(dry !== undefined && { dry }),
    ...(bias.length > 0 && { logitBias: new Map(bias) }),
  }
}

function mergeField<T extends object>(below: T | undefined, above: T | undefined): T | undefined {
  return below === undefined || above === undefined ? (above ?? below) : { ...below, ...above }
}

import type { Sampling } from '../contract/request.ts'

/**
 * Merges layers of sampling options; for each field, the last layer that sets it wins. `xtc` and `dry` merge by field, `logitBias`
 * by token.
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

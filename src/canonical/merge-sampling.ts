import type { Sampling } from '../contract/sampling.ts'

/** Options of several fields, which merge by field. */
const groups = ['xtc', 'dry', 'dynamicTemperature', 'mirostat', 'adaptiveP', 'smoothing', 'guidance'] as const

/**
 * Merges layers of sampling options; for each field, the last layer that sets it wins. `groups` merge by field, `logitBias` by token.
 */
export function mergeSampling(...layers: readonly Sampling[]): Sampling {
  return layers.reduce(mergeTwo, {})
}

function mergeTwo(below: Sampling, above: Sampling): Sampling {
  if (Object.keys(below).length === 0) return above
  const merged = groups.flatMap((name) => {
    const both = mergeField<object>(below[name], above[name])
    return both === undefined ? [] : [[name, both] as const]
  })
  const bias = [...(below.logitBias ?? []), ...(above.logitBias ?? [])]
  return {
    ...below,
    ...above,
    ...Object.fromEntries(merged),
    ...(bias.length > 0 && { logitBias: new Map(bias) }),
  }
}

function mergeField<T extends object>(below: T | undefined, above: T | undefined): T | undefined {
  return below === undefined || above === undefined ? (above ?? below) : { ...below, ...above }
}

import type { Sampling } from '../contract/sampling.ts'

/**
 * Whether a sampling option changes nothing: it is absent, has the value that means off, or depends on another option that is off. The
 * server that generates need not know such an option.
 */
export function changesNothing<Name extends keyof Sampling>(name: Name, sampling: Sampling): boolean {
  const value = sampling[name]
  const rule = rules[name] as Rule<Name>
  return value === undefined || rule(value, sampling)
}

type Rule<Name extends keyof Sampling> = (value: NonNullable<Sampling[Name]>, sampling: Sampling) => boolean

const rules: { readonly [Name in keyof Sampling]-?: Rule<Name> } = {
  temperature: (temperature) => temperature === 1,
  topP: (share) => share >= 1,
  topK: (count) => count === 0,
  minP: (share) => share === 0,
  // Nothing is left to chance.
  seed: (_, { temperature }) => temperature === 0,
  repetitionPenalty: (penalty, { repetitionRange }) => penalty === 1 || repetitionRange === 0,
  repetitionRange: (range, { repetitionPenalty = 1 }) => range === -1 || repetitionPenalty === 1,
  // No token precedes the whole context.
  repetitionDecay: (tokens, { repetitionRange = -1, repetitionPenalty = 1 }) =>
    tokens === 0 || repetitionRange <= 0 || repetitionPenalty === 1,
  presencePenalty: (penalty) => penalty === 0,
  frequencyPenalty: (penalty) => penalty === 0,
  temperatureLast: (_, sampling) =>
    sampling.temperature === 0 || sampling.temperature === 1 || removers.every((name) => isKnownOff(name, sampling)),
  logitBias: ({ size }) => size === 0,
  xtc: ({ probability = 0 }) => probability === 0,
  dry: ({ multiplier = 0 }) => multiplier === 0,
  typicalP: (share) => share >= 1,
  topNSigma: (width) => width <= 0,
  dynamicTemperature: ({ range = 0 }) => range === 0,
  mirostat: ({ version = 0 }) => version === 0,
  adaptiveP: ({ target = -1 }) => target < 0,
  topA: (share) => share === 0,
  tailFree: (share) => share === 0 || share >= 1,
  smoothing: ({ factor = 0 }) => factor === 0,
  skew: (skew) => skew === 0,
  samplerOrder: () => false,
  allowedTokens: ({ length }) => length === 0,
  stopTokens: ({ length }) => length === 0,
  bannedStrings: ({ length }) => length === 0,
  loopWindow: (tokens) => tokens <= 1,
  healsTokens: (heals) => !heals,
  guidance: ({ scale = 1 }) => scale === 1,
}

/** Temperature changes the effect of these. */
const removers = ['topK', 'topP', 'minP', 'typicalP', 'topNSigma', 'topA', 'tailFree', 'xtc'] as const

/** Servers have defaults of their own for the usual ones. */
function isKnownOff(name: (typeof removers)[number], sampling: Sampling): boolean {
  const isUsual = name === 'topK' || name === 'topP' || name === 'minP'
  return changesNothing(name, sampling) && !(isUsual && sampling[name] === undefined)
}

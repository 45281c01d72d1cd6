import { randomInt } from 'node:crypto'
import { mergeSampling } from '../../../canonical/merge-sampling.ts'
import type { Sampling } from '../../../contract/sampling.ts'

/** llama.cpp's own defaults, where the request, the configuration and the model's file set nothing; no penalties. */
const defaults = {
  temperature: 0.8,
  topP: 0.95,
  topK: 40,
  minP: 0.05,
  repetitionPenalty: 1,
  repetitionRange: -1,
  presencePenalty: 0,
  frequencyPenalty: 0,
}
/** Those of samplers that are on only if one of their fields is set. */
const groupDefaults = {
  xtc: { probability: 0, threshold: 0.1 },
  dry: { multiplier: 0, base: 1.75, allowedLength: 2, range: -1, sequenceBreakers: ['\n', ':', '"', '*'] },
  dynamicTemperature: { range: 0, exponent: 1 },
  mirostat: { version: 0, tau: 5, eta: 0.1 },
  adaptiveP: { target: -1, decay: 0.9 },
  smoothing: { factor: 0, curve: 1 },
  guidance: { scale: 1, negativePrompt: '' },
}
/** llama.cpp replaces this seed by a random one (LLAMA_DEFAULT_SEED). */
const anySeed = 2 ** 32 - 1
/** The native side reads 32 bits: a larger number would wrap around. */
const largestInt = 2 ** 31 - 1

type Group = keyof typeof groupDefaults

/** Sampling with every default filled in: the worker adds none. */
export type ResolvedSampling = Omit<Sampling, Group> &
  Required<Pick<Sampling, keyof typeof defaults | 'seed' | 'logitBias'>> & {
    readonly [K in Group]?: Required<NonNullable<Sampling[K]>>
  }

/** The sources of sampling parameters; a later one wins: the model's file, its configuration, the request. */
type SamplingLayers = { readonly file?: Sampling; readonly config?: Sampling; readonly request: Sampling }

/** The sampling of a request without parameters of its own; its seed is random. */
export function samplingDefaults(layers: Omit<SamplingLayers, 'request'>): Sampling {
  const { seed: _, logitBias: __, ...fixed } = resolveSampling({ ...layers, request: {} })
  return fixed
}

/** A missing seed is random, never the clock. */
export function resolveSampling({ file = {}, config = {}, request }: SamplingLayers): ResolvedSampling {
  const given = mergeSampling(file, config, request)
  const groups = Object.fromEntries(Object.entries(groupDefaults).filter(([name]) => given[name as Group] !== undefined))
  const complete = {
    ...defaults,
    logitBias: new Map(),
    seed: randomInt(anySeed),
    ...mergeSampling(groups, given),
  } as ResolvedSampling
  const { topK, repetitionRange, seed, dry } = complete
  const within = (value: number) => Math.min(value, largestInt)
  return {
    ...complete,
    topK: within(topK),
    repetitionRange: within(repetitionRange),
    seed: Math.min(seed, anySeed - 1),
    ...(dry !== undefined && { dry: { ...dry, allowedLength: within(dry.allowedLength), range: within(dry.range) } }),
  }
}

/** The seed of one choice: choices of a request differ, and each is reproducible. */
export function choiceSeed(seed: number, choice: number): number {
  return (seed + choice) % anySeed
}

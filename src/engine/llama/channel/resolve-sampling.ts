import { randomInt } from 'node:crypto'
import { mergeSampling } from '../../../canonical/merge-sampling.ts'
import type { Sampling } from '../../../contract/sampling.ts'
import type { ResolvedSampling } from './ipc.ts'

/** llama.cpp's own defaults, for what neither the request, the configuration nor the model's file sets. */
const defaultSampling = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 }
const defaultXtc = { probability: 0, threshold: 0.1 }
const defaultDry = { multiplier: 0, base: 1.75, allowedLength: 2, range: -1, sequenceBreakers: ['\n', ':', '"', '*'] }
const defaultDynamic = { range: 0, exponent: 1 }
const defaultMirostat = { version: 0, tau: 5, eta: 0.1 }
const defaultAdaptive = { target: -1, decay: 0.9 }
const defaultSmoothing = { factor: 0, curve: 1 }
const defaultGuidance = { scale: 1, negativePrompt: '' }
/** llama.cpp replaces this seed by a random one (LLAMA_DEFAULT_SEED). */
const anySeed = 2 ** 32 - 1
/** The native side reads 32 bits: a larger number would wrap around. */
const largestInt = 2 ** 31 - 1

/** The sources of sampling parameters; a later one wins: the model's file, its configuration, the request. */
type SamplingLayers = { readonly file?: Sampling; readonly config?: Sampling; readonly request: Sampling }

/** The sampling of a request without parameters of its own; its seed is random. */
export function samplingDefaults(layers: Omit<SamplingLayers, 'request'>): Sampling {
  const { seed: _, logitBias: __, xtc, dry, ...defaults } = resolveSampling({ ...layers, request: {} })
  return { ...defaults, ...(xtc !== undefined && { xtc }), ...(dry !== undefined && { dry }) }
}

/** Fills in every default, so that the worker has none. A missing seed is random, never the clock. */
export function resolveSampling({ file = {}, config = {}, request }: SamplingLayers): ResolvedSampling {
  const merged = { ...defaultSampling, ...mergeSampling(file, config, request) }
  const { temperature, topP, topK, minP, repetitionPenalty, repetitionRange, presencePenalty, frequencyPenalty, xtc, dry } =
    merged
  return {
    temperature,
    topP,
    topK: Math.min(topK, largestInt),
    minP,
    seed: Math.min(merged.seed ?? randomInt(anySeed), anySeed - 1),
    repetitionPenalty: repetitionPenalty ?? 1,
    repetitionRange: Math.min(repetitionRange ?? -1, largestInt),
    presencePenalty: presencePenalty ?? 0,
    frequencyPenalty: frequencyPenalty ?? 0,
    logitBias: [...(merged.logitBias ?? [])],
    xtc: xtc && { ...defaultXtc, ...xtc },
    dry: dry && resolveDry({ ...defaultDry, ...dry }),
    ...others(merged),
  }
}

/** The samplers that few requests have. */
function others({ dynamicTemperature, mirostat, adaptiveP, smoothing, guidance, ...rest }: Sampling) {
  const given = Object.entries({
    temperatureLast: rest.temperatureLast,
    typicalP: rest.typicalP,
    topNSigma: rest.topNSigma,
    topA: rest.topA,
    tailFree: rest.tailFree,
    skew: rest.skew,
    repetitionDecay: rest.repetitionDecay,
    dynamicTemperature: dynamicTemperature && { ...defaultDynamic, ...dynamicTemperature },
    mirostat: mirostat && { ...defaultMirostat, ...mirostat },
    adaptiveP: adaptiveP && { ...defaultAdaptive, ...adaptiveP },
    smoothing: smoothing && { ...defaultSmoothing, ...smoothing },
    guidance: guidance && { ...defaultGuidance, ...guidance },
    loopWindow: rest.loopWindow,
    healsTokens: rest.healsTokens,
    samplerOrder: rest.samplerOrder && [...rest.samplerOrder],
    allowedTokens: rest.allowedTokens && [...rest.allowedTokens],
    stopTokens: rest.stopTokens && [...rest.stopTokens],
    bannedStrings: rest.bannedStrings && [...rest.bannedStrings],
  } satisfies { [K in keyof ResolvedSampling]?: ResolvedSampling[K] | undefined }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Partial<ResolvedSampling>
}

function resolveDry({ allowedLength, range, sequenceBreakers, ...rest }: Required<NonNullable<Sampling['dry']>>) {
  return {
    ...rest,
    allowedLength: Math.min(allowedLength, largestInt),
    range: Math.min(range, largestInt),
    sequenceBreakers: [...sequenceBreakers],
  }
}

/** The seed of one choice: choices of a request differ, and each is reproducible. */
export function choiceSeed(seed: number, choice: number): number {
  return (seed + choice) % anySeed
}

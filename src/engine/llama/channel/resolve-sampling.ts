import { randomInt } from 'node:crypto'
import { mergeSampling } from '../../../contract/merge-sampling.ts'
import type { Sampling } from '../../../contract/request.ts'
import type { ResolvedSampling } from './ipc.ts'

/** llama.cpp's own defaults; what a request, the configuration and the model's file leave open. */
const defaultSampling = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 }
const defaultXtc = { probability: 0, threshold: 0.1 }
const defaultDry = { multiplier: 0, base: 1.75, allowedLength: 2, range: -1, sequenceBreakers: ['\n', ':', '"', '*'] }
/** llama.cpp takes this seed for "any" (LLAMA_DEFAULT_SEED): the seeds below it are what they say. */
const anySeed = 2 ** 32 - 1
/** The native side reads 32 bits: a larger number would come out as another. */
const largestInt = 2 ** 31 - 1

/** Where sampling may be said, the later the stronger: in the model's file, in its configuration, in the request. */
export type SamplingLayers = { readonly file?: Sampling; readonly config?: Sampling; readonly request: Sampling }

/** What holds for a request that says nothing; the seed is then random. */
export function samplingDefaults(layers: Omit<SamplingLayers, 'request'>): Sampling {
  const { seed: _, logitBias: __, xtc, dry, ...defaults } = resolveSampling({ ...layers, request: {} })
  return { ...defaults, ...(xtc !== undefined && { xtc }), ...(dry !== undefined && { dry }) }
}

/** Fills every gap, so that the worker needs no defaults of its own. A missing seed is random, never the clock. */
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
  }
}

function resolveDry({ allowedLength, range, sequenceBreakers, ...rest }: Required<NonNullable<Sampling['dry']>>) {
  return {
    ...rest,
    allowedLength: Math.min(allowedLength, largestInt),
    range: Math.min(range, largestInt),
    sequenceBreakers: [...sequenceBreakers],
  }
}

/** Choices of one request differ, and each is the same every time. */
export function choiceSeed(seed: number, choice: number): number {
  return (seed + choice) % anySeed
}

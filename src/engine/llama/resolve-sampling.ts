import { randomInt } from 'node:crypto'
import type { Sampling } from '../../core/request.ts'
import type { ResolvedSampling } from './ipc.ts'

/** llama.cpp's own defaults; what a request or the configuration leaves open. Documented in docs/protocols.md. */
const defaultSampling = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 }
/** llama.cpp takes this seed for "any" (LLAMA_DEFAULT_SEED): the seeds below it are what they say. */
const anySeed = 2 ** 32 - 1
/** The native side reads 32 bits: a larger number would come out as another. */
const largestInt = 2 ** 31 - 1

/** Fills every gap, so that the worker needs no defaults of its own. A missing seed is random, never the clock. */
export function resolveSampling(request: Sampling, model: Sampling): ResolvedSampling {
  const merged = { ...defaultSampling, ...model, ...request }
  const { temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty, xtc, dry } = merged
  return {
    temperature,
    topP,
    topK: Math.min(topK, largestInt),
    minP,
    seed: Math.min(merged.seed ?? randomInt(anySeed), anySeed - 1),
    repetitionPenalty: repetitionPenalty ?? 1,
    presencePenalty: presencePenalty ?? 0,
    frequencyPenalty: frequencyPenalty ?? 0,
    logitBias: [...(merged.logitBias ?? [])],
    xtc,
    dry: dry && {
      ...dry,
      allowedLength: Math.min(dry.allowedLength, largestInt),
      range: Math.min(dry.range, largestInt),
      sequenceBreakers: [...dry.sequenceBreakers],
    },
  }
}

/** Choices of one request differ, and each is the same every time. */
export function choiceSeed(seed: number, choice: number): number {
  return (seed + choice) % anySeed
}

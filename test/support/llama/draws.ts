import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { type Library, openLibrary } from '../../../src/engine/llama/binding/library.ts'
import type { Model } from '../../../src/engine/llama/binding/model.ts'
import { SamplerChain, type SamplerStep } from '../../../src/engine/llama/binding/sampler-chain.ts'
import { llamaOptions } from '../../../src/engine/llama/worker/context/context.ts'

/** The values that chi-squared exceeds in one of a thousand cases, by degrees of freedom. */
const limits = [0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12]

/** llama.cpp without a model: samplers need none. */
export async function loadSamplers(): Promise<Library> {
  await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })
  return openLibrary()
}

type Drawing = { readonly steps: readonly SamplerStep[]; readonly logits: readonly number[]; readonly draws: number }

/** How often each token of a small vocabulary is chosen. */
export function draw(library: Library, { steps, logits, draws }: Drawing): number[] {
  const model = { size: logits.length, library } as unknown as Model
  const chain = new SamplerChain(model, steps)
  const given = Float32Array.from(logits)
  const counts = logits.map(() => 0)
  for (let count = 0; count < draws; count++) {
    const token = chain.peek(given, {})
    counts[token] = (counts[token] ?? 0) + 1
  }
  chain.free()
  return counts
}

/** Whether counts may come from these probabilities; what has none must not occur. */
export function isDrawnFrom(probabilities: readonly number[], counts: readonly number[]): boolean {
  const draws = counts.reduce((sum, count) => sum + count, 0)
  const possible = probabilities.flatMap((probability, token) => (probability > 0 ? [token] : []))
  if (counts.some((count, token) => count > 0 && !possible.includes(token))) return false
  const squared = possible.map((token) => {
    const expected = draws * (probabilities[token] as number)
    return ((counts[token] as number) - expected) ** 2 / expected
  })
  return squared.reduce((sum, value) => sum + value, 0) <= (limits[possible.length - 1] as number)
}

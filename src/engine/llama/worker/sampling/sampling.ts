import type { Biases } from '../../binding/candidates.ts'
import type { SamplerStep } from '../../binding/sampler-chain.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { ResolvedSampling } from '../../channel/ipc.ts'

type StepsSource = {
  readonly prompt: Uint32Array
  readonly contextLength: number
}

/** llama.cpp's samplers for one choice, in the order of its own server. */
export function samplerSteps(sampling: ResolvedSampling, { prompt, contextLength }: StepsSource): SamplerStep[] {
  const { temperature, topP, topK, minP, seed, xtc, dry, repetitionPenalty, presencePenalty, frequencyPenalty } = sampling
  const steps: SamplerStep[] = []
  const repetitionRange = withinContext(sampling.repetitionRange, contextLength)
  if (repetitionPenalty !== 1 && repetitionRange !== 0) {
    const history = lastOf(prompt, repetitionRange)
    steps.push({ type: 'penalties', range: repetitionRange, repetition: repetitionPenalty, history })
  }
  if (presencePenalty !== 0 || frequencyPenalty !== 0) {
    // OpenAI's count the output only.
    steps.push({ type: 'penalties', range: contextLength, presence: presencePenalty, frequency: frequencyPenalty })
  }
  if (dry !== undefined) {
    const range = withinContext(dry.range, contextLength)
    steps.push({ type: 'dry', ...dry, range, history: lastOf(prompt, range) })
  }
  const cutsByChance: SamplerStep[] = xtc === undefined ? [] : [{ type: 'xtc', ...xtc, seed }]
  if (temperature === 0) return [...steps, ...cutsByChance, { type: 'greedy' }]
  const { temperatureLast, typicalP = 1, topNSigma = 0, dynamicTemperature, mirostat, adaptiveP } = sampling
  const warmth: SamplerStep = { type: 'temperature', value: temperature, ...(dynamicTemperature ?? { range: 0, exponent: 1 }) }
  if (mirostat !== undefined && mirostat.version > 0) return [...steps, warmth, { type: 'mirostat', ...mirostat, seed }]
  const cuts: SamplerStep[] = [
    ...(topNSigma > 0 ? [{ type: 'top-n-sigma', count: topNSigma } as const] : []),
    { type: 'top-k', count: topK },
    ...(typicalP < 1 ? [{ type: 'typical', probability: typicalP } as const] : []),
    { type: 'top-p', probability: topP },
    { type: 'min-p', probability: minP },
    ...cutsByChance,
  ]
  steps.push(...(temperatureLast === false ? [warmth, ...cuts] : [...cuts, warmth]))
  const isAdaptive = adaptiveP !== undefined && adaptiveP.target >= 0
  steps.push(isAdaptive ? { type: 'adaptive-p', ...adaptiveP, seed } : { type: 'distribution', seed })
  return steps
}

function lastOf(prompt: Uint32Array, count: number): Uint32Array {
  return prompt.subarray(Math.max(0, prompt.length - count))
}

/** -1 is the whole context. */
function withinContext(range: number, contextLength: number): number {
  return range < 0 ? contextLength : Math.min(range, contextLength)
}

/**
 * `banned` tokens are never sampled; `held` ones are not before the output has `until` tokens, or, with `asLastResort`, only if no other
 * token is possible.
 */
type BiasSource = {
  readonly banned: readonly Token[]
  readonly held?: Held | undefined
}

type Held = { readonly tokens: readonly Token[]; readonly until: number; readonly asLastResort: boolean }

/** Lower than any sum of logit, bias and penalties, but above tokens that a grammar forbids. */
const lastResort = -1e9

/** What is added to the logits when the output has so many tokens: the caller's bias, and the ban on some tokens. */
export function createBiases(
  { logitBias }: Pick<ResolvedSampling, 'logitBias'>,
  { banned, held }: BiasSource,
): (outputTokens: number) => Biases {
  const fixed = new Map<number, number>()
  for (const [id, bias] of logitBias) {
    // In OpenAI's API, -100 means never.
    fixed.set(id, bias <= -100 ? Number.NEGATIVE_INFINITY : bias)
  }
  for (const token of banned) fixed.set(token, Number.NEGATIVE_INFINITY)
  if (held === undefined) return () => fixed
  const early = new Map(fixed)
  const hold = held.asLastResort ? lastResort : Number.NEGATIVE_INFINITY
  for (const token of held.tokens) early.set(token, Math.min(hold, fixed.get(token) ?? hold))
  return (outputTokens) => (outputTokens < held.until ? early : fixed)
}

import { samplerOrder, temperatureFirst } from '../../../../canonical/sampler-order.ts'
import type { SamplerName } from '../../../../contract/sampling.ts'
import type { Biases } from '../../binding/candidates.ts'
import type { SamplerStep } from '../../binding/sampler-chain.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { ResolvedSampling } from '../../channel/resolve-sampling.ts'

type StepsSource = {
  readonly prompt: Uint32Array
  readonly contextLength: number
}

/** The samplers for one choice, in the order of llama.cpp's server, or in that of the request. */
export function samplerSteps(sampling: ResolvedSampling, source: StepsSource): SamplerStep[] {
  const { temperature, seed, mirostat, adaptiveP, skew = 0 } = sampling
  const steps = stepsByName(sampling, source)
  if (temperature === 0) return [...steps.penalties, ...steps.dry, ...steps.xtc, { type: 'greedy' }]
  if (mirostat !== undefined && mirostat.version > 0) {
    return [...steps.penalties, ...steps.dry, ...steps.temperature, { type: 'mirostat', ...mirostat, seed }]
  }
  const order = sampling.samplerOrder ?? (sampling.temperatureLast === false ? temperatureFirst : samplerOrder)
  const ordered = order.flatMap((name) => steps[name])
  if (skew !== 0) ordered.push({ type: 'skew', skew })
  const isAdaptive = adaptiveP !== undefined && adaptiveP.target >= 0
  return [...ordered, isAdaptive ? { type: 'adaptive-p', ...adaptiveP, seed } : { type: 'distribution', seed }]
}

function stepsByName(sampling: ResolvedSampling, { prompt, contextLength }: StepsSource): Record<SamplerName, SamplerStep[]> {
  const { temperature, topP, topK, minP, seed, xtc, dry, typicalP = 1, topNSigma = 0, topA = 0, tailFree = 1 } = sampling
  const { repetitionPenalty, presencePenalty, frequencyPenalty, dynamicTemperature, smoothing } = sampling
  const repetitionRange = withinContext(sampling.repetitionRange, contextLength)
  const penalties: SamplerStep[] = []
  if (repetitionPenalty !== 1 && repetitionRange !== 0) {
    const { repetitionDecay: decay = 0 } = sampling
    const history = lastOf(prompt, repetitionRange + decay)
    const repetition = { range: repetitionRange, repetition: repetitionPenalty, history }
    penalties.push(decay > 0 ? { type: 'fading', ...repetition, decay } : { type: 'penalties', ...repetition })
  }
  if (presencePenalty !== 0 || frequencyPenalty !== 0) {
    // OpenAI's count the output only.
    penalties.push({ type: 'penalties', range: contextLength, presence: presencePenalty, frequency: frequencyPenalty })
  }
  const dryRange = withinContext(dry?.range ?? 0, contextLength)
  return {
    penalties,
    dry: dry === undefined ? [] : [{ type: 'dry', ...dry, range: dryRange, history: lastOf(prompt, dryRange) }],
    'top-n-sigma': topNSigma > 0 ? [{ type: 'top-n-sigma', count: topNSigma }] : [],
    'top-k': [{ type: 'top-k', count: topK }],
    'top-a': topA > 0 ? [{ type: 'top-a', share: topA }] : [],
    'tail-free': tailFree > 0 && tailFree < 1 ? [{ type: 'tail-free', share: tailFree }] : [],
    typical: typicalP < 1 ? [{ type: 'typical', probability: typicalP }] : [],
    'top-p': [{ type: 'top-p', probability: topP }],
    'min-p': [{ type: 'min-p', probability: minP }],
    xtc: xtc === undefined ? [] : [{ type: 'xtc', ...xtc, seed }],
    temperature: [{ type: 'temperature', value: temperature, ...(dynamicTemperature ?? { range: 0, exponent: 1 }) }],
    smoothing: smoothing !== undefined && smoothing.factor > 0 ? [{ type: 'smoothing', ...smoothing }] : [],
  }
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
  /** How many tokens there are. */
  readonly size: number
  readonly banned: readonly Token[]
  readonly held?: Held | undefined
}

type Held = { readonly tokens: readonly Token[]; readonly until: number; readonly asLastResort: boolean }

/** Lower than any sum of logit, bias and penalties, but above tokens that a grammar forbids. */
const lastResort = -1e9

/** What is added to the logits when the output has so many tokens: the caller's bias, and the ban on some tokens. */
export function createBiases(
  { logitBias, allowedTokens }: Pick<ResolvedSampling, 'logitBias' | 'allowedTokens'>,
  { size, banned, held }: BiasSource,
): (outputTokens: number) => Biases {
  const fixed = new Map<number, number>()
  if (allowedTokens !== undefined) {
    const allowed = new Set(allowedTokens)
    for (let token = 0; token < size; token++) if (!allowed.has(token)) fixed.set(token, Number.NEGATIVE_INFINITY)
  }
  for (const [id, bias] of logitBias) {
    // In OpenAI's API, -100 means never.
    fixed.set(id, bias <= -100 ? Number.NEGATIVE_INFINITY : bias + (fixed.get(id) ?? 0))
  }
  for (const token of banned) fixed.set(token, Number.NEGATIVE_INFINITY)
  if (held === undefined) return () => fixed
  const early = new Map(fixed)
  const hold = held.asLastResort ? lastResort : Number.NEGATIVE_INFINITY
  for (const token of held.tokens) early.set(token, Math.min(hold, fixed.get(token) ?? hold))
  return (outputTokens) => (outputTokens < held.until ? early : fixed)
}

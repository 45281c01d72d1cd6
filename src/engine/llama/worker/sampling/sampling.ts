import { samplerOrder, temperatureFirst } from '../../../../canonical/sampler-order.ts'
import type { SamplerName } from '../../../../contract/sampling.ts'
import type { Biases } from '../../binding/candidates.ts'
import type { SamplerArgument } from '../../binding/library.ts'
import type { Model } from '../../binding/model.ts'
import { int, type SamplerStep } from '../../binding/sampler-chain.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { ResolvedSampling } from '../../channel/resolve-sampling.ts'

type StepsSource = {
  readonly model: Pick<Model, 'size' | 'vocabulary'>
  readonly prompt: Uint32Array
  readonly contextLength: number
}

/** Samplers that remove tokens always leave one. */
const leastKept = size(0)
/** The tokens from which the first version of mirostat estimates; llama.cpp's server has the same. */
const mirostatTokens = int(100)

/** The samplers for one choice, in the order of llama.cpp's server, or in that of the request. */
export function samplerSteps(sampling: ResolvedSampling, source: StepsSource): SamplerStep[] {
  const { temperature, mirostat, adaptiveP, skew = 0 } = sampling
  const seed = seeded(sampling)
  const steps = stepsByName(sampling, source)
  if (temperature === 0) return [...steps.penalties, ...steps.dry, ...steps.xtc, { type: 'greedy', args: [] }]
  if (mirostat !== undefined && mirostat.version > 0) {
    const learning = [seed, float(mirostat.tau), float(mirostat.eta)]
    const last: SamplerStep =
      mirostat.version === 1
        ? { type: 'mirostat', args: [int(source.model.size), ...learning, mirostatTokens] }
        : { type: 'mirostat_v2', args: learning }
    return [...steps.penalties, ...steps.dry, ...steps.temperature, last]
  }
  const order = sampling.samplerOrder ?? (sampling.temperatureLast === false ? temperatureFirst : samplerOrder)
  const ordered = order.flatMap((name) => steps[name])
  if (skew !== 0) ordered.push({ type: 'skew', skew })
  if (adaptiveP === undefined || adaptiveP.target < 0) return [...ordered, { type: 'dist', args: [seed] }]
  return [...ordered, { type: 'adaptive_p', args: [float(adaptiveP.target), float(adaptiveP.decay), seed] }]
}

function stepsByName(
  sampling: ResolvedSampling,
  { model, prompt, contextLength }: StepsSource,
): Record<SamplerName, SamplerStep[]> {
  const { temperature, topP, topK, minP, xtc, dry, typicalP = 1, topNSigma = 0, topA = 0, tailFree = 1 } = sampling
  const { repetitionPenalty, presencePenalty, frequencyPenalty, dynamicTemperature, smoothing } = sampling
  const range = withinContext(sampling.repetitionRange, contextLength)
  const penalties: SamplerStep[] = []
  const penalize = (last: number, repetition: number, frequency: number, presence: number) => {
    return [int(model.size), int(last), float(repetition), float(frequency), float(presence)]
  }
  if (repetitionPenalty !== 1 && range !== 0) {
    const { repetitionDecay: decay = 0 } = sampling
    const history = lastOf(prompt, range + decay)
    const args = penalize(range, repetitionPenalty, 0, 0)
    penalties.push(
      decay > 0 ? { type: 'fading', range, penalty: repetitionPenalty, history, decay } : { type: 'penalties', args, history },
    )
  }
  if (presencePenalty !== 0 || frequencyPenalty !== 0) {
    // OpenAI's count the output only.
    penalties.push({ type: 'penalties', args: penalize(contextLength, 1, frequencyPenalty, presencePenalty) })
  }
  const { range: spread, exponent } = dynamicTemperature ?? { range: 0, exponent: 1 }
  return {
    penalties,
    dry: dry === undefined ? [] : [dryStep(dry, { model, prompt, contextLength })],
    'top-n-sigma': topNSigma > 0 ? [{ type: 'top_n_sigma', args: [float(topNSigma)] }] : [],
    'top-k': [{ type: 'top_k', args: [int(topK)] }],
    'top-a': topA > 0 ? [{ type: 'top-a', share: topA }] : [],
    'tail-free': tailFree > 0 && tailFree < 1 ? [{ type: 'tail-free', share: tailFree }] : [],
    typical: typicalP < 1 ? [{ type: 'typical', args: [float(typicalP), leastKept] }] : [],
    'top-p': [{ type: 'top_p', args: [float(topP), leastKept] }],
    'min-p': [{ type: 'min_p', args: [float(minP), leastKept] }],
    xtc:
      xtc === undefined
        ? []
        : [{ type: 'xtc', args: [float(xtc.probability), float(xtc.threshold), leastKept, seeded(sampling)] }],
    temperature: [{ type: 'temp_ext', args: [float(temperature), float(spread), float(exponent)] }],
    smoothing: smoothing !== undefined && smoothing.factor > 0 ? [{ type: 'smoothing', ...smoothing }] : [],
  }
}

function dryStep(dry: NonNullable<ResolvedSampling['dry']>, { model, prompt, contextLength }: StepsSource): SamplerStep {
  const { multiplier, base, allowedLength, sequenceBreakers } = dry
  const range = withinContext(dry.range, contextLength)
  const breakers: SamplerArgument[] = [['str *', sequenceBreakers], size(sequenceBreakers.length)]
  const args = [float(multiplier), float(base), int(allowedLength), int(range), ...breakers]
  return { type: 'dry', args: [['void *', model.vocabulary], ...args], history: lastOf(prompt, range) }
}

function float(value: number): SamplerArgument {
  return ['float', value]
}

function size(value: number): SamplerArgument {
  return ['size_t', value]
}

function seeded({ seed }: ResolvedSampling): SamplerArgument {
  return ['uint32_t', seed]
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
  readonly size: number
  readonly banned: readonly Token[]
  readonly held?: Held | undefined
}

type Held = { readonly tokens: readonly Token[]; readonly until: number; readonly asLastResort: boolean }

/** Lower than any sum of logit, bias and penalties, but above tokens that a grammar forbids. */
const lastResort = -1e9

/** The bias of the logits after `outputTokens` tokens: the caller's, and the ban on some tokens. */
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

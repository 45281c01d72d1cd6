import { AppError } from '../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../contract/field.ts'
import type { GenerationRequest, Sampling } from '../../../contract/request.ts'
import type { SentRequest } from '../servers/check-upstream.ts'
import type { Profile } from '../servers/profile.ts'

/**
 * The fields that all protocols share, in the server's names. Throws `unsupported-field` for what would change the output
 * and the server does not know.
 */
export function sharedFields(request: SentRequest, profile: Profile): Record<string, unknown> {
  const { sampling, maxOutputTokens, ignoreEos, stop, choices } = request
  const { temperature, topP, topK, minP, seed, repetitionPenalty, presencePenalty, frequencyPenalty, logitBias } = sampling
  return {
    ...given('temperature', temperature),
    ...given('top_p', topP),
    // A value that means off may be left out; any other must be supported.
    ...extension(profile, { field: profile.fields.seed, at: ['sampling', 'seed'], value: seed, off: undefined }),
    ...extension(profile, {
      field: profile.fields.presencePenalty,
      at: ['sampling', 'presencePenalty'],
      value: presencePenalty,
      off: 0,
    }),
    ...extension(profile, {
      field: profile.fields.frequencyPenalty,
      at: ['sampling', 'frequencyPenalty'],
      value: frequencyPenalty,
      off: 0,
    }),
    ...extension(profile, { field: profile.fields.topK, at: ['sampling', 'topK'], value: topK, off: 0 }),
    ...extension(profile, { field: profile.fields.minP, at: ['sampling', 'minP'], value: minP, off: 0 }),
    ...extension(profile, {
      field: profile.fields.repetitionPenalty,
      at: ['sampling', 'repetitionPenalty'],
      value: repetitionPenalty,
      off: 1,
    }),
    ...extension(profile, {
      field: profile.fields.repetitionRange,
      at: ['sampling', 'repetitionRange'],
      value: sampling.repetitionRange,
      off: -1,
    }),
    ...extension(profile, { field: profile.fields.ignoreEos, at: ['ignoreEos'], value: ignoreEos, off: false }),
    ...orderField(sampling, profile),
    ...biasField(logitBias, profile),
    ...xtcFields(sampling.xtc, profile),
    ...dryFields(sampling.dry, profile),
    ...given(profile.maxTokens, maxOutputTokens),
    ...(stop.length > 0 && !profile.stopsHere && { [profile.stop]: stop }),
    ...(choices > 1 && profile.choices && { n: choices }),
    ...given('lora', request.lora),
    ...(profile.forwards === true && forwardedFields(request)),
    ...profile.extras,
  }
}

function forwardedFields({ forwarded = {} }: GenerationRequest): Record<string, unknown> {
  return {
    ...given('user', forwarded.user),
    ...given('safety_identifier', forwarded.safetyIdentifier),
    ...given('service_tier', forwarded.serviceTier),
    ...given('prompt_cache_key', forwarded.promptCacheKey),
    ...given('prompt_cache_retention', forwarded.promptCacheRetention),
    ...given('metadata', forwarded.metadata),
  }
}

/** Running usage where available: a reply that breaks off is continued with its counts. */
export function streamOptions({ runningUsage }: Profile): Record<string, unknown> {
  return { include_usage: true, ...(runningUsage && { continuous_usage_stats: true }) }
}

function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value }
}

type Extension = {
  readonly field: string | undefined
  readonly at: CanonicalPath
  readonly value: number | boolean | undefined
  readonly off: number | boolean | undefined
}

function extension(profile: Profile, { field, at, value, off }: Extension): Record<string, unknown> {
  if (field !== undefined) {
    // All tokens: -1 for vLLM, 0 for other servers and for us.
    return value === undefined || value === false ? {} : { [field]: at.at(-1) === 'topK' && value === 0 ? -1 : value }
  }
  if (value === undefined || value === off) return {}
  throw unsupported(profile, at)
}

/** Without effect where the temperature changes nothing. */
function orderField({ temperature, temperatureLast }: Sampling, profile: Profile): Record<string, unknown> {
  const { temperatureLast: order } = profile
  if (temperatureLast === undefined || order === temperatureLast || temperature === 0 || temperature === 1) return {}
  if (typeof order === 'object') return { [order.field]: temperatureLast }
  throw unsupported(profile, ['sampling', 'temperatureLast'])
}

function biasField(bias: GenerationRequest['sampling']['logitBias'], profile: Profile): Record<string, unknown> {
  if (bias === undefined || bias.size === 0) return {}
  if (!profile.logitBias) throw unsupported(profile, ['sampling', 'logitBias'])
  return { logit_bias: Object.fromEntries(bias) }
}

function xtcFields(xtc: GenerationRequest['sampling']['xtc'], profile: Profile): Record<string, unknown> {
  if (xtc?.probability === undefined || xtc.probability === 0) return {}
  if (profile.fields.xtc === undefined) throw unsupported(profile, ['sampling', 'xtc', 'probability'])
  return { xtc_probability: xtc.probability, ...given('xtc_threshold', xtc.threshold) }
}

function dryFields(dry: GenerationRequest['sampling']['dry'], profile: Profile): Record<string, unknown> {
  if (dry?.multiplier === undefined || dry.multiplier === 0) return {}
  if (profile.fields.dry === undefined) throw unsupported(profile, ['sampling', 'dry', 'multiplier'])
  return {
    dry_multiplier: dry.multiplier,
    ...given('dry_base', dry.base),
    ...given('dry_allowed_length', dry.allowedLength),
    ...given('dry_penalty_last_n', dry.range),
    ...given('dry_sequence_breakers', dry.sequenceBreakers),
  }
}

/** How many top log-probabilities to ask for; the reader leaves out what was not requested. Throws `unsupported-field` for too many. */
export function topLogprobs({ top }: NonNullable<GenerationRequest['logprobs']>, profile: Profile): number {
  const { logprobs, leastTop = 0, mostTop = Number.POSITIVE_INFINITY } = profile
  if (!logprobs) throw unsupported(profile, ['logprobs'])
  if (top <= mostTop) return Math.max(leastTop, top)
  const message = `the server behind this model (${profile.name}) reports at most ${mostTop} top log-probabilities: ask for fewer in ${field('logprobs', 'top')}`
  throw new AppError('unsupported-field', message, { at: ['logprobs', 'top'] })
}

/** The error for a field that the server does not know. */
export function unsupported({ name }: Profile, at: CanonicalPath): AppError {
  const message = `the server behind this model (${name}) does not know ${field(...at)}, which would change the output: leave it out`
  return new AppError('unsupported-field', message, { at })
}

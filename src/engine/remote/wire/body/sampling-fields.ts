import { changesNothing } from '../../../../canonical/neutral-sampling.ts'
import { samplerOrder } from '../../../../canonical/sampler-order.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../../contract/field.ts'
import type { AdapterChoice, GenerationRequest, JsonObject } from '../../../../contract/request.ts'
import type { SamplerName, Sampling } from '../../../../contract/sampling.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import { findsStops, type Profile } from '../../servers/profile.ts'

/**
 * The fields that all protocols share, in the server's names. Throws `unsupported-field` for fields that would change the output and that
 * the server does not know.
 */
export function sharedFields(request: SentRequest, profile: Profile): Record<string, unknown> {
  const { maxOutputTokens, minOutputTokens, stop, choices, lora, ignoreEos } = request
  const sampling = withoutEmptyRange(request.sampling, profile)
  const fields: Record<string, unknown> = {}
  const set = (name: string, value: unknown) => {
    if (value !== undefined) fields[name] = value
  }
  set('temperature', sampling.temperature)
  set('top_p', sampling.topP)
  for (const name of plainOptions) {
    const value = sampling[name]
    const field = profile.fields[name]
    if (field !== undefined) set(field, name === 'topK' && value === 0 ? allTokens[profile.protocol] : value)
    else if (!changesNothing(name, sampling)) throw unsupportedOption(profile, name)
  }
  // A structure ends by its grammar: llama-server fails beyond that end.
  if (ignoreEos && request.output.type === 'text') fields[known(profile, 'ignoreEos')] = true
  if (minOutputTokens !== undefined && minOutputTokens > 0) fields[known(profile, 'minOutputTokens')] = minOutputTokens
  Object.assign(fields, orderField(sampling, profile), biasField(sampling, profile))
  for (const sampler of samplers) {
    if (sampling[sampler.name] !== undefined) Object.assign(fields, samplerFields(sampler, sampling, profile))
  }
  if (profile.fields.own === true) set('loop_detect_window', sampling.loopWindow)
  set(profile.maxTokens, maxOutputTokens)
  if (request.tellsProgress === true && profile.name === 'dragoman') fields.return_progress = true
  if (stop.length > 0 && !findsStops(request, profile)) fields[profile.stop] = stop
  if (choices > 1 && profile.choices) fields.n = choices
  set('lora', lora)
  if (request.adapter !== undefined) fields.use_adapter = adapterField(request.adapter, profile)
  if (request.serverFields !== undefined) Object.assign(fields, ownFields(request.serverFields, profile))
  return Object.assign(fields, profile.forwards === true && forwardedFields(request), profile.extras)
}

/** The value of `top_k` for all tokens: -1 for vLLM, 0 for other servers and for us; Messages have no such value. */
const allTokens = { chat: -1, completions: -1, responses: -1, messages: undefined } as const

/** Options with a name for each kind of server. */
const plainOptions = [
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'topK',
  'minP',
  'repetitionPenalty',
  'repetitionRange',
  'allowedTokens',
  'stopTokens',
] as const

/** Callers have put token ids between stop sequences, which the server may support. */
function unsupportedOption(profile: Profile, name: (typeof plainOptions)[number]): AppError {
  const at = ['sampling', name]
  if (name !== 'stopTokens') return unsupported(profile, at)
  const message = `the server behind this model (${profile.name}) ends no output at token ids: leave them out of ${field(...at)}, or send their texts`
  return new AppError('unsupported-field', message, { at })
}

/** A penalty over an empty range has no effect, even for a server that has no ranges. */
function withoutEmptyRange(sampling: Sampling, { fields }: Profile): Sampling {
  const { repetitionRange, repetitionPenalty } = sampling
  if (repetitionRange !== 0 || repetitionPenalty === undefined || fields.repetitionRange !== undefined) return sampling
  return { ...sampling, repetitionPenalty: 1 }
}

function known(profile: Profile, name: 'ignoreEos' | 'minOutputTokens'): string {
  const field = profile.fields[name]
  if (field === undefined) throw unsupported(profile, [name])
  return field
}

function adapterField(adapter: AdapterChoice, profile: Profile): string | boolean {
  if (profile.takesAdapters !== true) throw unsupported(profile, ['adapter'])
  return adapter.type === 'named' ? adapter.name : adapter.type === 'loaded'
}

/** Fields of one kind of server, with the values that the caller sent. */
function ownFields(fields: JsonObject, profile: Profile): JsonObject {
  const unknown = Object.keys(fields).find((name) => profile.ownFields?.includes(name) !== true)
  if (unknown !== undefined) throw unsupported(profile, ['serverFields', unknown])
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [profile.ownNames?.[name] ?? name, value]))
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

/** Requests running usage if available: a reply that breaks off is continued with its counts. */
export function streamOptions({ runningUsage }: Profile): Record<string, unknown> {
  return { include_usage: true, ...(runningUsage && { continuous_usage_stats: true }) }
}

function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value }
}

function orderField(sampling: Sampling, profile: Profile): Record<string, unknown> {
  const { temperatureLast: order } = profile
  if (changesNothing('temperatureLast', sampling) || order === sampling.temperatureLast) return {}
  if (typeof order === 'object') return { [order.field]: sampling.temperatureLast }
  throw unsupported(profile, ['sampling', 'temperatureLast'])
}

function biasField(sampling: Sampling, profile: Profile): Record<string, unknown> {
  const { logitBias: bias } = sampling
  if (bias === undefined || changesNothing('logitBias', sampling)) return {}
  if (!profile.logitBias) throw unsupported(profile, ['sampling', 'logitBias'])
  return { logit_bias: Object.fromEntries(bias) }
}

/** The names of samplers in llama.cpp's lists; those that it lacks have the names of text-generation-webui. */
const listNames: Readonly<Record<SamplerName, string>> = {
  penalties: 'penalties',
  dry: 'dry',
  'top-n-sigma': 'top_n_sigma',
  'top-k': 'top_k',
  'top-a': 'top_a',
  'tail-free': 'tfs',
  typical: 'typ_p',
  'top-p': 'top_p',
  'min-p': 'min_p',
  xtc: 'xtc',
  temperature: 'temperature',
  smoothing: 'quadratic_sampling',
}

/** A sampler that some kinds of servers have, with its fields in llama.cpp's and Dragoman's names. */
type Sampler = {
  readonly name: keyof Sampling
  /** `others` are llama.cpp's, `own` are Dragoman's. */
  readonly of: 'xtc' | 'dry' | 'others' | 'own'
  readonly at?: readonly string[]
  /** The first one switches it on and off. Undefined ones are left out. */
  fields(sampling: Sampling): Readonly<Record<string, unknown>>
}

const samplers: readonly Sampler[] = [
  {
    name: 'xtc',
    of: 'xtc',
    at: ['probability'],
    fields: ({ xtc }) => ({ xtc_probability: xtc?.probability, xtc_threshold: xtc?.threshold }),
  },
  {
    name: 'dry',
    of: 'dry',
    at: ['multiplier'],
    fields: ({ dry }) => ({
      dry_multiplier: dry?.multiplier,
      dry_base: dry?.base,
      dry_allowed_length: dry?.allowedLength,
      dry_penalty_last_n: dry?.range,
      dry_sequence_breakers: dry?.sequenceBreakers,
    }),
  },
  { name: 'typicalP', of: 'others', fields: ({ typicalP }) => ({ typical_p: typicalP }) },
  { name: 'topNSigma', of: 'others', fields: ({ topNSigma = 0 }) => ({ top_n_sigma: Math.max(0, topNSigma) }) },
  {
    name: 'dynamicTemperature',
    of: 'others',
    at: ['range'],
    fields: ({ dynamicTemperature: { range, exponent } = {} }) => ({ dynatemp_range: range, dynatemp_exponent: exponent }),
  },
  {
    name: 'mirostat',
    of: 'others',
    at: ['version'],
    fields: ({ mirostat }) => ({ mirostat: mirostat?.version, mirostat_tau: mirostat?.tau, mirostat_eta: mirostat?.eta }),
  },
  { name: 'samplerOrder', of: 'others', fields: (sampling) => ({ samplers: listedOrder(sampling) }) },
  {
    name: 'adaptiveP',
    of: 'others',
    at: ['target'],
    // llama.cpp runs this sampler only if the list has it, and skips names that it does not know.
    fields: (sampling) => ({
      adaptive_target: sampling.adaptiveP?.target,
      adaptive_decay: sampling.adaptiveP?.decay,
      samplers: [...listedOrder(sampling), 'adaptive_p'],
    }),
  },
  { name: 'topA', of: 'own', fields: ({ topA }) => ({ top_a: topA }) },
  { name: 'tailFree', of: 'own', fields: ({ tailFree }) => ({ tfs: tailFree === 0 ? 1 : tailFree }) },
  {
    name: 'smoothing',
    of: 'own',
    at: ['factor'],
    // Not every server has curves. A curve of 1 has no effect.
    fields: ({ smoothing: { factor, curve } = {} }) => ({
      smoothing_factor: factor,
      smoothing_curve: curve === 1 ? undefined : curve,
    }),
  },
  {
    name: 'guidance',
    of: 'own',
    at: ['scale'],
    fields: ({ guidance }) => ({ guidance_scale: guidance?.scale, negative_prompt: guidance?.negativePrompt }),
  },
  { name: 'bannedStrings', of: 'own', fields: ({ bannedStrings }) => ({ banned_strings: bannedStrings }) },
  { name: 'healsTokens', of: 'own', fields: ({ healsTokens }) => ({ token_healing: healsTokens }) },
  { name: 'skew', of: 'own', fields: ({ skew }) => ({ skew }) },
  { name: 'repetitionDecay', of: 'own', fields: ({ repetitionDecay }) => ({ repetition_decay: repetitionDecay }) },
]

/** Sent even if a sampler is off: the server may have it on by default. */
function samplerFields(
  { name, of, at = [], fields }: Sampler,
  sampling: Sampling,
  profile: Profile,
): Readonly<Record<string, unknown>> {
  const isOff = changesNothing(name, sampling)
  const given = Object.entries(fields(sampling)).slice(0, isOff ? 1 : undefined)
  const { [of]: hasAll, some } = profile.fields
  const sent = given.flatMap(([field, value]) => (value === undefined ? [] : [[hasAll ? field : some?.[field], value] as const]))
  if (sent.every(([field]) => field !== undefined)) return Object.fromEntries(sent)
  if (isOff) return {}
  throw unsupported(profile, ['sampling', name, ...at])
}

function listedOrder(sampling: Sampling): readonly string[] {
  return (sampling.samplerOrder ?? samplerOrder).map((name) => listNames[name])
}

/**
 * How many top log-probabilities to ask for; the reader leaves out those that were not requested. Throws `unsupported-field` for too many.
 */
export function topLogprobs(wanted: NonNullable<GenerationRequest['logprobs']>, profile: Profile): number {
  const top = wantedTop(wanted, profile)
  const { logprobs, leastTop = 0, mostTop = Number.POSITIVE_INFINITY } = profile
  if (!logprobs) throw unsupported(profile, ['logprobs'])
  if (top <= mostTop) return Math.max(leastTop, top)
  const message = `the server behind this model (${profile.name}) reports at most ${mostTop} top log-probabilities: ask for fewer in ${field('logprobs', 'top')}`
  throw new AppError('unsupported-field', message, { at: ['logprobs', 'top'] })
}

/** How many of them the reader leaves. */
export function wantedTop(
  { top, topHere = top }: NonNullable<GenerationRequest['logprobs']>,
  { listsAllTops }: Pick<Profile, 'listsAllTops'>,
): number {
  return listsAllTops === true ? topHere : top
}

/** The error for a field that the server does not know. */
export function unsupported({ name }: Pick<Profile, 'name'>, at: CanonicalPath): AppError {
  const message = `the server behind this model (${name}) does not know ${field(...at)}, which would change the output: leave it out`
  return new AppError('unsupported-field', message, { at })
}

import { samplerOrder } from '../../../../canonical/sampler-order.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../../contract/field.ts'
import type { GenerationRequest, JsonObject } from '../../../../contract/request.ts'
import type { SamplerName, Sampling } from '../../../../contract/sampling.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import { findsStops, type Profile } from '../../servers/profile.ts'

/**
 * The fields that all protocols share, in the server's names. Throws `unsupported-field` for what would change the output
 * and the server does not know.
 */
export function sharedFields(request: SentRequest, profile: Profile): Record<string, unknown> {
  const { sampling, maxOutputTokens, stop, choices, lora } = request
  const fields: Record<string, unknown> = {}
  const set = (name: string, value: unknown) => {
    if (value !== undefined) fields[name] = value
  }
  set('temperature', sampling.temperature)
  set('top_p', sampling.topP)
  for (const { name, at, read, off } of extensions) {
    const value = read(request)
    if (value === undefined) continue
    const field = profile.fields[name]
    // A value that means off may be left out; any other must be supported.
    if (field === undefined && value !== off) throw unsupported(profile, at)
    // All tokens: -1 for vLLM, 0 for other servers and for us.
    if (field !== undefined && value !== false) fields[field] = name === 'topK' && value === 0 ? -1 : value
  }
  Object.assign(fields, orderField(sampling, profile), biasField(sampling.logitBias, profile))
  Object.assign(fields, xtcFields(sampling.xtc, profile), dryFields(sampling.dry, profile), otherFields(sampling, profile))
  set(profile.maxTokens, maxOutputTokens)
  if (request.tellsProgress === true && profile.name === 'dragoman') fields.return_progress = true
  if (stop.length > 0 && !findsStops(request, profile)) fields[profile.stop] = stop
  if (choices > 1 && profile.choices) fields.n = choices
  set('lora', lora)
  if (request.serverFields !== undefined) Object.assign(fields, ownFields(request.serverFields, profile))
  return Object.assign(fields, profile.forwards === true && forwardedFields(request), profile.extras)
}

type Extension = {
  readonly name: Exclude<keyof Profile['fields'], 'xtc' | 'dry' | 'others' | 'own' | 'some' | 'allowedTokens' | 'stopTokens'>
  readonly at: CanonicalPath
  read(request: SentRequest): number | boolean | undefined
  readonly off: number | boolean | undefined
}

/** Fields that not every server knows. A table, because most requests have none of them. */
const extensions: readonly Extension[] = [
  { name: 'seed', at: ['sampling', 'seed'], read: ({ sampling }) => sampling.seed, off: undefined },
  { name: 'presencePenalty', at: ['sampling', 'presencePenalty'], read: ({ sampling }) => sampling.presencePenalty, off: 0 },
  { name: 'frequencyPenalty', at: ['sampling', 'frequencyPenalty'], read: ({ sampling }) => sampling.frequencyPenalty, off: 0 },
  { name: 'topK', at: ['sampling', 'topK'], read: ({ sampling }) => sampling.topK, off: 0 },
  { name: 'minP', at: ['sampling', 'minP'], read: ({ sampling }) => sampling.minP, off: 0 },
  {
    name: 'repetitionPenalty',
    at: ['sampling', 'repetitionPenalty'],
    read: ({ sampling }) => sampling.repetitionPenalty,
    off: 1,
  },
  { name: 'repetitionRange', at: ['sampling', 'repetitionRange'], read: ({ sampling }) => sampling.repetitionRange, off: -1 },
  { name: 'ignoreEos', at: ['ignoreEos'], read: ({ ignoreEos }) => ignoreEos, off: false },
  { name: 'minOutputTokens', at: ['minOutputTokens'], read: ({ minOutputTokens }) => minOutputTokens, off: 0 },
]

/** Fields of one kind of server, as the caller sent them. */
function ownFields(fields: JsonObject, profile: Profile): JsonObject {
  const unknown = Object.keys(fields).find((name) => profile.ownFields?.includes(name) !== true)
  if (unknown !== undefined) throw unsupported(profile, ['serverFields', unknown])
  return fields
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

/** Samplers that some kinds of servers have: `others` are llama.cpp's, `own` those of Dragoman. */
type Wanted = readonly [
  kind: 'others' | 'own' | 'allowedTokens' | 'stopTokens',
  at: CanonicalPath,
  fields: Record<string, unknown>,
]

function otherFields(sampling: Sampling, profile: Profile): Record<string, unknown> {
  const wanted = [...llamaSamplers(sampling), ...ownSamplers(sampling)]
  for (const name of ['allowedTokens', 'stopTokens'] as const) {
    if (sampling[name] !== undefined) wanted.push([name, ['sampling', name], { [profile.fields[name] ?? name]: sampling[name] }])
  }
  const { some = {}, own } = profile.fields
  const sent = own === true ? given('loop_detect_window', sampling.loopWindow) : {}
  for (const [kind, at, fields] of wanted) {
    const known = profile.fields[kind] === undefined ? renamed(fields, some) : fields
    if (known === undefined) throw unsupported(profile, at)
    Object.assign(sent, known)
  }
  return sent
}

/** The fields by other names; undefined where one has none. */
function renamed(fields: Record<string, unknown>, names: Readonly<Record<string, string>>): Record<string, unknown> | undefined {
  const entries = Object.entries(fields).map(([name, value]) => [names[name], value] as const)
  return entries.every(([name]) => name !== undefined) ? Object.fromEntries(entries) : undefined
}

function llamaSamplers(sampling: Sampling): Wanted[] {
  const { typicalP = 1, topNSigma = 0, dynamicTemperature = {}, mirostat = {}, adaptiveP = {} } = sampling
  const wanted: Wanted[] = []
  if (typicalP < 1) wanted.push(['others', ['sampling', 'typicalP'], { typical_p: typicalP }])
  if (topNSigma > 0) wanted.push(['others', ['sampling', 'topNSigma'], { top_n_sigma: topNSigma }])
  const { range = 0, exponent } = dynamicTemperature
  if (range > 0) {
    const fields = { dynatemp_range: range, ...given('dynatemp_exponent', exponent) }
    wanted.push(['others', ['sampling', 'dynamicTemperature', 'range'], fields])
  }
  const { version = 0, tau, eta } = mirostat
  if (version > 0) {
    const fields = { mirostat: version, ...given('mirostat_tau', tau), ...given('mirostat_eta', eta) }
    wanted.push(['others', ['sampling', 'mirostat', 'version'], fields])
  }
  const samplers = (sampling.samplerOrder ?? samplerOrder).map((name) => listNames[name])
  if (sampling.samplerOrder !== undefined) wanted.push(['others', ['sampling', 'samplerOrder'], { samplers }])
  const { target = -1, decay } = adaptiveP
  if (target >= 0) {
    // llama.cpp runs this sampler only where the list has it, and skips names that it does not know.
    const fields = { adaptive_target: target, ...given('adaptive_decay', decay), samplers: [...samplers, 'adaptive_p'] }
    wanted.push(['others', ['sampling', 'adaptiveP', 'target'], fields])
  }
  return wanted
}

function ownSamplers(sampling: Sampling): Wanted[] {
  const { topA = 0, tailFree = 1, smoothing = {}, skew = 0, repetitionDecay = 0 } = sampling
  const { guidance = {}, bannedStrings = [], healsTokens = false } = sampling
  const wanted: Wanted[] = []
  if (topA > 0) wanted.push(['own', ['sampling', 'topA'], { top_a: topA }])
  if (tailFree > 0 && tailFree < 1) wanted.push(['own', ['sampling', 'tailFree'], { tfs: tailFree }])
  const { factor = 0, curve } = smoothing
  if (factor > 0) {
    wanted.push(['own', ['sampling', 'smoothing', 'factor'], { smoothing_factor: factor, ...given('smoothing_curve', curve) }])
  }
  const { scale = 1, negativePrompt } = guidance
  if (scale !== 1) {
    const fields = { guidance_scale: scale, ...given('negative_prompt', negativePrompt) }
    wanted.push(['own', ['sampling', 'guidance', 'scale'], fields])
  }
  if (bannedStrings.length > 0) wanted.push(['own', ['sampling', 'bannedStrings'], { banned_strings: bannedStrings }])
  if (healsTokens) wanted.push(['own', ['sampling', 'healsTokens'], { token_healing: true }])
  if (skew !== 0) wanted.push(['own', ['sampling', 'skew'], { skew }])
  if (repetitionDecay > 0) wanted.push(['own', ['sampling', 'repetitionDecay'], { repetition_decay: repetitionDecay }])
  return wanted
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

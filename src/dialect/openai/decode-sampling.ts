import { given } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { Sampling } from '../../contract/sampling.ts'
import { preview } from '../wire/preview.ts'
import { type CommonWire, samplingShape } from './common-schema.ts'
import { mentions, type NamesIn } from './mentions.ts'
import { decodeSamplerOrder, type SamplerOrder } from './sampler-order.ts'
import { pickSpelled, pickSpelling, spellingsOf } from './spelling.ts'

/** The value of `logit_bias` that excludes a token. */
const bannedBias = -100
/** Every server reads this seed as a random one. */
const anySeed = -1

const plainFields = new Set([
  'temperature',
  'temp',
  'do_sample',
  'top_p',
  'seed',
  'sampler_seed',
  'random_seed',
  'presence_penalty',
  'frequency_penalty',
] as const)
/** Fields that few clients send. */
const rareFields: ReadonlySet<string> = new Set(Object.keys(samplingShape).filter((name) => !plainFields.has(name as never)))

type PlainWire = Pick<CommonWire, NamesIn<typeof plainFields>>
type RareWire = Pick<CommonWire, keyof typeof samplingShape>

/** Decodes the sampling fields. Absent fields stay absent, because the model has its own defaults. */
export function decodeSampling(wire: PlainWire & RareWire): Sampling {
  const plain = mentions(wire, plainFields) ? decodePlain(wire) : {}
  if (!mentions(wire, rareFields)) return plain
  const order = decodeSamplerOrder(wire)
  return { ...plain, ...decodeRare(wire, order), ...order?.off }
}

function decodePlain(wire: PlainWire): Sampling {
  const seed = pickSpelling(wire, spellingsOf.seed)
  return given({
    temperature: decodeTemperature(wire),
    topP: wire.top_p ?? undefined,
    // Engines take 32 bits; the shift keeps the low bits of any safe integer, including a negative one.
    seed: seed !== undefined && seed !== anySeed ? seed >>> 0 : undefined,
    presencePenalty: wire.presence_penalty ?? undefined,
    frequencyPenalty: wire.frequency_penalty ?? undefined,
  })
}

function decodeRare(wire: RareWire, order: SamplerOrder | undefined): Sampling {
  const allowed = pickSpelling(wire, spellingsOf.allowed)
  return given({
    topK: wire.top_k === -1 ? 0 : (wire.top_k ?? undefined),
    minP: wire.min_p ?? undefined,
    repetitionPenalty: pickSpelling(wire, spellingsOf.repetitionPenalty),
    repetitionRange: pickSpelling(wire, spellingsOf.repetitionRange),
    temperatureLast: wire.temperature_last ?? order?.temperatureLast,
    samplerOrder: order?.order,
    logitBias: decodeLogitBias(wire),
    xtc: decodeXtc(wire),
    dry: decodeDry(wire),
    typicalP: pickSpelling(wire, spellingsOf.typical),
    topNSigma: decodeSigma(wire),
    mirostat: someOf({
      version: decodeMirostat(wire),
      tau: wire.mirostat_tau ?? undefined,
      eta: wire.mirostat_eta ?? undefined,
    }),
    topA: wire.top_a ?? undefined,
    tailFree: pickSpelling(wire, spellingsOf.tailFree),
    smoothing: decodeSmoothing(wire),
    skew: wire.skew ?? undefined,
    repetitionDecay: wire.repetition_decay ?? undefined,
    // Clients send an empty list for none.
    allowedTokens: allowed === undefined || allowed.length === 0 ? undefined : readTokens(allowed),
    stopTokens: decodeStopTokens(wire),
    bannedStrings: decodeBanned(wire),
    loopWindow: wire.loop_detect_window ?? undefined,
    healsTokens: wire.token_healing ?? undefined,
    guidance: someOf({
      scale: pickSpelling(wire, spellingsOf.guidance),
      negativePrompt: wire.negative_prompt ?? undefined,
    }),
    adaptiveP: someOf({ target: decodeTarget(wire), decay: wire.adaptive_decay ?? undefined }),
    ...decodeDynamic(wire),
  })
}

function decodeStopTokens(wire: RareWire): readonly number[] | undefined {
  const stop = pickSpelling(wire, spellingsOf.stop) ?? []
  const mixed = typeof stop === 'string' ? [] : stop.filter((item) => typeof item === 'number')
  const tokens = [...readTokens(wire.stop_token_ids ?? []), ...mixed]
  return tokens.length === 0 ? undefined : tokens
}

function decodeBanned({ banned_strings: banned }: RareWire): readonly string[] | undefined {
  const strings = [banned ?? []].flat().filter((text) => text !== '')
  return strings.length === 0 ? undefined : strings
}

/** True means on, as in tabbyAPI: version 1, unless the other field sets it. */
function decodeMirostat({ mirostat, mirostat_mode: mode }: RareWire): number | undefined {
  if (mirostat === true) return Math.max(1, mode ?? 1)
  return pickSpelling({ mirostat_mode: mode, mirostat: mirostat === false ? 0 : mirostat }, ['mirostat_mode', 'mirostat'])
}

function decodeSmoothing({ smoothing_factor: factor, smoothing_curve: curve }: RareWire): Sampling['smoothing'] {
  if ((factor ?? 0) > 0 && (curve ?? 1) < 1) {
    const message = `smoothing_curve: expected a number of at least 1, got ${curve}`
    throw new AppError('invalid-request', message, { param: 'smoothing_curve' })
  }
  return someOf({ factor: factor ?? undefined, curve: curve ?? undefined })
}

/** llama.cpp's -1 means off, like 0. */
function decodeSigma(wire: RareWire): number | undefined {
  const sigma = pickSpelling(wire, spellingsOf.sigma)
  return sigma === undefined ? undefined : Math.max(0, sigma)
}

/** tabbyAPI's 1 means off, like llama.cpp's -1. */
function decodeTarget({ adaptive_target: target }: RareWire): number | undefined {
  return target === 1 ? -1 : (target ?? undefined)
}

/** llama.cpp's range around the temperature, or bounds, as in text-generation-webui and tabbyAPI. */
function decodeDynamic(wire: RareWire): { temperature?: number; dynamicTemperature?: Sampling['dynamicTemperature'] } {
  const exponent = pickSpelling(wire, spellingsOf.exponent)
  const bounds = { low: pickSpelled(wire, spellingsOf.lowest), high: pickSpelled(wire, spellingsOf.highest) }
  const low = bounds.low?.value ?? 1
  const high = bounds.high?.value ?? 1
  if (wire.dynamic_temperature === false || low === high) {
    const dynamicTemperature = someOf({ range: wire.dynatemp_range ?? undefined, exponent })
    return dynamicTemperature === undefined ? {} : { dynamicTemperature }
  }
  if (low > high) {
    const message = `the bounds of the temperature are ${low} and ${high}: the lower one must be below the other (each is 1 unless it is sent)`
    throw new AppError('invalid-request', message, { param: bounds.low?.name ?? bounds.high?.name ?? 'min_temp' })
  }
  return { temperature: (low + high) / 2, dynamicTemperature: given({ range: (high - low) / 2, exponent }) }
}

function decodeTemperature(wire: PlainWire): number | undefined {
  const temperature = pickSpelling(wire, spellingsOf.temperature)
  if (wire.do_sample !== false) return temperature
  if (temperature !== undefined && temperature > 0) {
    throw new AppError(
      'invalid-request',
      `do_sample false is greedy and contradicts temperature ${temperature}: send one of them`,
      {
        param: 'do_sample',
      },
    )
  }
  return 0
}

/** A banned token is one with the bias that excludes it. */
function decodeLogitBias(wire: RareWire): Sampling['logitBias'] {
  const bans = pickSpelled(wire, spellingsOf.bans)
  if (bans === undefined && (wire.logit_bias ?? undefined) === undefined) return undefined
  const sent = Array.isArray(wire.logit_bias) ? wire.logit_bias : Object.entries(wire.logit_bias ?? {})
  const bias = new Map(sent.map(([token, value]) => [Number(token), value === false ? bannedBias : value]))
  for (const token of bans === undefined ? [] : readTokens(bans.value)) {
    const other = bias.get(token)
    if (other !== undefined && other !== bannedBias) {
      const message = `${bans?.name} bans token ${token}, but its logit_bias is ${other}: send one of them`
      throw new AppError('invalid-request', message, { param: bans?.name ?? 'banned_tokens' })
    }
    bias.set(token, bannedBias)
  }
  return bias
}

function readTokens(tokens: string | readonly number[]): readonly number[] {
  if (typeof tokens !== 'string') return tokens
  return tokens.split(',').flatMap((text) => (text.trim() === '' ? [] : [Number(text)]))
}

function decodeXtc(wire: RareWire): Sampling['xtc'] {
  return someOf({ probability: wire.xtc_probability ?? undefined, threshold: wire.xtc_threshold ?? undefined })
}

function decodeDry(wire: RareWire): Sampling['dry'] {
  // tabbyAPI's default, which has no meaning while DRY is off.
  if (typeof wire.dry_base === 'number' && wire.dry_base < 1) {
    if ((wire.dry_multiplier ?? 0) > 0) throw badBase(wire.dry_base)
    return { multiplier: 0 }
  }
  return someOf({
    multiplier: wire.dry_multiplier ?? undefined,
    base: wire.dry_base ?? undefined,
    allowedLength: wire.dry_allowed_length ?? undefined,
    range: pickSpelling(wire, spellingsOf.dryRange),
    sequenceBreakers: decodeBreakers(wire.dry_sequence_breakers),
  })
}

function badBase(base: number): AppError {
  return new AppError('invalid-request', `dry_base: expected a number of at least 1, got ${base}`, { param: 'dry_base' })
}

/** tabbyAPI's clients send the list as a JSON string, those of text-generation-webui without its brackets. */
function decodeBreakers(breakers: RareWire['dry_sequence_breakers']): readonly string[] | undefined {
  if (typeof breakers !== 'string') return breakers ?? undefined
  let list: unknown
  try {
    list = JSON.parse(/^\s*\[/.test(breakers) ? breakers : `[${breakers}]`)
  } catch (cause) {
    throw badBreakers(breakers, cause)
  }
  if (Array.isArray(list) && list.every((item) => typeof item === 'string' && item !== '')) return list
  throw badBreakers(breakers)
}

function badBreakers(breakers: string, cause?: unknown): AppError {
  const expected = 'an array of non-empty strings, or its JSON as a string'
  return new AppError('invalid-request', `dry_sequence_breakers: expected ${expected}, got ${preview(breakers)}`, {
    param: 'dry_sequence_breakers',
    cause,
  })
}

/** Undefined if all members are. */
function someOf<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], undefined> } | undefined {
  const members = given(record)
  return Object.keys(members).length === 0 ? undefined : members
}

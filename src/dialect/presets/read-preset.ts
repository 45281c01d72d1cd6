import { mergeSampling } from '../../canonical/merge-sampling.ts'
import { AppError } from '../../contract/errors.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { PresetValues, ReadPreset, SamplingPreset } from '../../contract/server/sampling-preset.ts'
import { type CommonWire, commonShape } from '../openai/common-schema.ts'
import { decodeCommon } from '../openai/decode-common.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { preview } from '../wire/preview.ts'
import { formatPath, validate } from '../wire/validate.ts'
import { presetFields } from './fields.ts'
import { chatShape, joinChat, readChat } from './read-chat.ts'

/** A preset's entry for one field, in tabbyAPI's form: without `force` and `additive` it is a default. */
type WireOverride = {
  readonly override?: unknown
  readonly force?: boolean | null | undefined
  readonly additive?: boolean | null | undefined
}
type Kind = 'default' | 'force' | 'additive'

const fieldIndex = indexFields(presetFields)
/** The same types and ranges as in a request. */
const valuesSchema = looseObject({
  ...Object.fromEntries(Object.entries(commonShape).filter(([name]) => fieldIndex.has(name))),
  ...chatShape,
})
const listFields = ['stop', 'stop_sequence', 'stopping_strings', 'dry_sequence_breakers', 'banned_tokens', 'custom_token_bans']

/**
 * Reads a preset from its overrides by request field. Throws `invalid-request` or `unsupported-field` like a request with the same
 * values; `param` is `at` and the field.
 */
export function readPreset(wire: Readonly<Record<string, WireOverride>>, at: string): ReadPreset {
  const entries = Object.entries(wire).filter(([, { override }]) => override !== undefined && override !== null)
  const values = (kind: Kind) =>
    readValues(entries.filter(([, entry]) => kindOf(entry) === kind).map(toValue), { at, isForced: kind === 'force' })
  for (const [name, entry] of entries) refuseInvalidKind(name, entry, at)
  const { stop = [], sampling } = values('additive').values
  const { values: forced, chat: forcedChat } = values('force')
  const { values: defaults, chat: defaultChat } = values('default')
  const chat = joinChat(defaultChat, forcedChat)
  const preset: SamplingPreset = {
    defaults,
    // Biases merge by token: a preset that bans some tokens keeps the request's biases of others.
    forced: { ...forced, sampling: mergeSampling(pickBias(sampling), forced.sampling) },
    ...(chat !== undefined && { chat }),
    added: { stop, sequenceBreakers: sampling.dry?.sequenceBreakers ?? [] },
  }
  return { overrides: Object.fromEntries(entries), preset }
}

function pickBias({ logitBias }: Sampling): Sampling {
  return logitBias === undefined ? {} : { logitBias }
}

/** As in tabbyAPI, `force` takes precedence over `additive`. */
function kindOf({ force, additive }: WireOverride): Kind {
  if (force === true) return 'force'
  return additive === true ? 'additive' : 'default'
}

function toValue([name, { override }]: readonly [string, WireOverride]): readonly [string, unknown] {
  return [name, override]
}

function refuseInvalidKind(name: string, entry: WireOverride, at: string): void {
  const kind = kindOf(entry)
  if (kind === 'additive' && !listFields.includes(name)) {
    throw invalid(name, `additive is for lists (${listFields.join(', ')}); leave it out`, at)
  }
  const isEos = name === 'ignore_eos' || name === 'ban_eos_token'
  if (kind === 'default' && isEos && entry.override === true) {
    throw invalid(name, 'a default of true would also hold where a request says false; set force', at)
  }
}

type ReadValues = { readonly values: PresetValues; readonly chat: ReturnType<typeof readChat> }

function readValues(
  entries: readonly (readonly [string, unknown])[],
  { at, isForced }: { readonly at: string; readonly isForced: boolean },
): ReadValues {
  const given: Readonly<Record<string, unknown>> = Object.fromEntries(entries)
  try {
    const wire = validate(valuesSchema, given, fieldIndex)
    const [unknown] = checkFields(fieldIndex, wire)
    if (unknown !== undefined) {
      const field = formatPath([unknown])
      const message = `${field} ${preview(given[unknown])} is not a request field that a preset can set; see docs/reference/protocols.md`
      throw new AppError('invalid-request', message, { param: field })
    }
    const chat = readChat(given, { isForced })
    const { sampling, maxOutputTokens, stop } = decodeCommon({ ...wire, model: '' } as CommonWire)
    const { ignore_eos: ignoreEos = given.ban_eos_token, stop: sentStop = given.stop_sequence ?? given.stopping_strings } = given
    const values = {
      sampling,
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(sentStop !== undefined && { stop }),
      ...(typeof ignoreEos === 'boolean' && { ignoreEos }),
    }
    return { values, chat }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.code, `${at}.${error.message}`, { param: `${at}.${error.param}`, cause: error })
  }
}

function invalid(name: string, message: string, at: string): AppError {
  return new AppError('invalid-request', `${at}.${name}: ${message}`, { param: `${at}.${name}` })
}

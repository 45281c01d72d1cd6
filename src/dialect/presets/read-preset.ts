import { mergeSampling } from '../../canonical/merge-sampling.ts'
import { variablesOfReasoning, variablesOfRequests } from '../../canonical/own-variables.ts'
import { AppError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { ChatDefaults } from '../../contract/served-model.ts'
import type { PresetValues, ReadPreset, SamplingPreset } from '../../contract/server/sampling-preset.ts'
import { type CommonWire, commonShape } from '../openai/common-schema.ts'
import { decodeCommon } from '../openai/decode-common.ts'
import { pickSpelled } from '../openai/spelling.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { jsonObject, looseObject } from '../wire/first-fault.ts'
import { preview } from '../wire/preview.ts'
import { formatPath, validate } from '../wire/validate.ts'
import { flag, nonEmptyText } from '../wire/wire-types.ts'
import { presetFields } from './fields.ts'

/** A preset's entry for one field, in tabbyAPI's form: without `force` and `additive` it is a default. */
type WireOverride = {
  readonly override?: unknown
  readonly force?: boolean | null | undefined
  readonly additive?: boolean | null | undefined
}
type Kind = 'default' | 'force' | 'additive'

const fieldIndex = indexFields(presetFields)
/** The conversation fields of a preset, with the types of request fields. */
const chatShape = {
  enable_thinking: flag,
  reasoning_effort: nonEmptyText.nullish(),
  preserve_thinking: flag,
  template_vars: jsonObject.nullish(),
  chat_template_kwargs: jsonObject.nullish(),
}

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

/** The values of one kind: defaults, or forced values. */
type Values = { readonly reasoning: ChatDefaults['reasoning']; readonly variables: JsonObject }

const fields = { enabled: 'enable_thinking', effort: 'reasoning_effort', preserve: 'preserve_thinking' } as const

/** Throws `invalid-request` for variables that requests always set, and, among defaults, for one that would override their fields. */
function readChat(given: Readonly<Record<string, unknown>>, { isForced }: { readonly isForced: boolean }): Values {
  const { enable_thinking: enabled, reasoning_effort: effort, preserve_thinking: preserve } = given
  const { name, value = {} } = pickSpelled(given, ['template_vars', 'chat_template_kwargs']) ?? { name: 'template_vars' }
  const variables = value as JsonObject
  for (const variable of Object.keys(variables)) {
    const kind = variablesOfReasoning.get(variable)
    const problem = variablesOfRequests.includes(variable)
      ? 'each request has it'
      : kind !== undefined && !isForced && `set ${fields[kind]} instead, which gives way to a request`
    if (problem !== false) throw new AppError('invalid-request', `${name}.${variable}: ${problem}`, { param: name })
  }
  return {
    reasoning: {
      ...(typeof enabled === 'boolean' && { enabled }),
      ...(typeof effort === 'string' && { effort }),
      ...(typeof preserve === 'boolean' && { preserve }),
    },
    variables,
  }
}

/** A preset's settings for conversations; undefined without any. */
function joinChat(defaults: Values, forced: Values): ChatDefaults | undefined {
  const parts = [defaults.reasoning, defaults.variables, forced.reasoning, forced.variables]
  if (parts.every((part) => Object.keys(part).length === 0)) return undefined
  return {
    ...defaults,
    ...(Object.keys(forced.reasoning).length > 0 && { forcedReasoning: forced.reasoning }),
    forcedVariables: forced.variables,
  }
}

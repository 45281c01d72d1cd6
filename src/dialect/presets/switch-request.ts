import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { PresetInUse, ReadPreset } from '../../contract/server/sampling-preset.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { dictionary, looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { flag, text } from '../wire/wire-types.ts'
import { presetSwitchFields } from './fields.ts'
import { readPreset } from './read-preset.ts'
import type { Presets } from './replies.ts'

const override = z.strictObject({ override: z.unknown(), force: flag, additive: flag })
export const presetSwitchSchema = looseObject({ preset: text, overrides: dictionary(z.string(), override).nullish() })
export const presetUnloadSchema = looseObject({})
const fieldIndex = indexFields(presetSwitchFields)

/** The request of `POST /v1/sampling/override/switch`: the name of a preset, or overrides. */
type PresetChoice = { readonly ignored: readonly string[] } & ({ readonly name: string } | { readonly own: ReadPreset })

/** Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodePresetSwitch(body: unknown): PresetChoice {
  const { preset: name, overrides, ...rest } = validate(presetSwitchSchema, body, fieldIndex)
  const ignored = checkFields(fieldIndex, rest)
  const hasName = typeof name === 'string'
  const hasOverrides = overrides !== undefined && overrides !== null
  if (hasName && hasOverrides) throw invalid('preset and overrides exclude each other: send one of them')
  if (hasName) return { ignored, name }
  if (hasOverrides) return { ignored, own: readPreset(overrides, 'overrides') }
  throw invalid('preset and overrides are missing: send the name of a preset, or overrides')
}

/** `POST /v1/sampling/override/unload`: the body is optional, and its fields are ignored. */
export function decodePresetUnload(body: unknown): Pick<PresetChoice, 'ignored'> {
  return { ignored: checkFields(new Map(), validate(presetUnloadSchema, body ?? {})) }
}

type Configured = { readonly inUse: PresetInUse | undefined; readonly names: readonly string[] }

/** The configured presets and the one in use, in tabbyAPI's form; an unnamed preset has only overrides. */
export function encodePresets({ inUse, names }: Configured): Presets {
  return { selected_preset: inUse?.name ?? null, overrides: inUse?.overrides ?? {}, presets: names }
}

function invalid(message: string): AppError {
  return new AppError('invalid-request', message, { param: 'preset' })
}

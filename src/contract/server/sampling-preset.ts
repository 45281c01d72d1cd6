import type { JsonObject } from '../request.ts'
import type { Sampling } from '../sampling.ts'
import type { ChatDefaults } from '../served-model.ts'

/** The options that a preset can set; 0, false and '' are values. */
export type PresetValues = {
  readonly sampling: Sampling
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  readonly ignoreEos?: boolean
}

/** An operator's sampling options for all requests. */
export type SamplingPreset = {
  /** For fields that the request does not set. */
  readonly defaults: PresetValues
  /** Override the request. */
  readonly forced: PresetValues
  /** Settings for rendering conversations; absent: as without the preset. */
  readonly chat?: ChatDefaults
  /** Prepended to the request's lists. */
  readonly added: { readonly stop: readonly string[]; readonly sequenceBreakers: readonly string[] }
}

/** A preset, and the overrides it was read from, for display. */
export type ReadPreset = { readonly overrides: JsonObject; readonly preset: SamplingPreset }

/** The preset in use; one sent in a switch request has no name. */
export type PresetInUse = ReadPreset & { readonly name: string | undefined }

/** The operator's preset: one of the configuration, an own one, or none. */
export type PresetChoice =
  | { readonly type: 'named'; readonly name: string }
  | { readonly type: 'own'; readonly preset: ReadPreset }
  | { readonly type: 'none' }

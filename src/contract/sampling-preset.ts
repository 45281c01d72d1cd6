import type { JsonObject, Sampling } from './request.ts'

/** What a preset can say about a request; an absent field says nothing, and 0, false and '' are values. */
export type PresetValues = {
  readonly sampling: Sampling
  readonly maxOutputTokens?: number
  readonly stop?: readonly string[]
  readonly ignoreEos?: boolean
}

/** An operator's word on how every request is sampled. */
export type SamplingPreset = {
  /** Hold where the request says nothing. */
  readonly defaults: PresetValues
  /** Hold whatever the request says. */
  readonly forced: PresetValues
  /** Put in front of the request's own lists. */
  readonly added: { readonly stop: readonly string[]; readonly sequenceBreakers: readonly string[] }
}

/** A preset, and the overrides it was made of, for display. */
export type ReadPreset = { readonly overrides: JsonObject; readonly preset: SamplingPreset }

/** The preset in use; without a name it came with a request to switch. */
export type PresetInUse = ReadPreset & { readonly name: string | undefined }

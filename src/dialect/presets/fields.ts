import { refusedExtensions, samplingExtensions, sharedOpenaiFields } from '../openai/common-fields.ts'
import type { Field } from '../wire/field-table.ts'

/** The fields of a request that a preset may say something about: those that sample, and those that end the output. */
export const presetFields: readonly Field[] = [
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  { name: 'max_tokens', aliases: ['max_completion_tokens', 'max_length'], treatment: 'used', note: 'at least 1' },
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  ...samplingExtensions,
  ...refusedExtensions,
]

/** The request fields of `POST /v1/sampling/override/switch`, as tabbyAPI has them. */
export const presetSwitchFields: readonly Field[] = [
  { name: 'preset', treatment: 'used', note: 'the name of a configured preset; not with `overrides`' },
  {
    name: 'overrides',
    treatment: 'used',
    note: 'a preset of its own: an object from fields to `override`, `force`, `additive`; a null `override` is none',
  },
]

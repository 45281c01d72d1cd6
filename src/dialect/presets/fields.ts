import { refusedExtensions, samplingExtensions, sharedOpenaiFields } from '../openai/common-fields.ts'
import { type Field, used } from '../wire/field-table.ts'

/** The request fields that a preset may set: those of sampling, and those that end the output. */
export const presetFields: readonly Field[] = [
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  used('max_tokens', 'at least 1', {
    aliases: ['max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
  }),
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
  used('preset', 'the name of a configured preset; not with `overrides`'),
  used(
    'overrides',
    'an unnamed preset: an object that maps fields to `override`, `force`, `additive`; a null `override` counts as absent',
  ),
]

import { refusedExtensions, refusedPromptLogprobs, samplingExtensions, sharedOpenaiFields } from '../openai/common-fields.ts'
import { type Field, refused, used } from '../wire/field-table.ts'

/** Settings for rendering conversations. */
const chatFields: readonly Field[] = [
  { name: 'enable_thinking', treatment: 'used', note: 'whether the model thinks' },
  { name: 'reasoning_effort', treatment: 'used', note: 'as the chat template knows it' },
  { name: 'preserve_thinking', treatment: 'used', note: 'whether the model sees the reasoning of earlier turns' },
  { name: 'template_vars', aliases: ['chat_template_kwargs'], treatment: 'used', note: 'each variable counts alone' },
]

/** The request fields that a preset may set: for sampling, for the end of the output, and for rendering conversations. */
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
  ...chatFields,
  ...samplingExtensions,
  ...refusedExtensions,
  refusedPromptLogprobs,
  refused('skip_special_tokens', 'a request says so itself', { accepts: [true] }),
]

/** The request fields of `POST /v1/sampling/override/switch`, as tabbyAPI has them. */
export const presetSwitchFields: readonly Field[] = [
  used('preset', 'the name of a configured preset; not with `overrides`'),
  used(
    'overrides',
    'an unnamed preset: an object that maps fields to `override`, `force`, `additive`; a null `override` counts as absent',
  ),
]

import {
  adapterField,
  constraintFields,
  minimumField,
  refusedExtensions,
  refusedMedia,
  samplingExtensions,
  sharedOpenaiFields,
} from '../openai/common-fields.ts'
import { serverFields } from '../openai/server-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import type { Field } from '../wire/field-table.ts'

const shared: readonly Field[] = [
  sharedOpenaiFields.model,
  sharedOpenaiFields.frequencyPenalty,
  {
    name: 'logit_bias',
    treatment: 'used',
    note: "a list of `[token id, value from -100 to 100]`, where false is -100; or an object, as in OpenAI's API",
  },
  sharedOpenaiFields.n,
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.stream,
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
  {
    name: 'n_predict',
    aliases: ['max_tokens', 'max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'num_predict'],
    treatment: 'used',
    note: 'absent and -1: up to the context; 0: the prompt is read into the cache, and the reply is empty',
  },
  {
    name: 'n_probs',
    aliases: ['logprobs'],
    treatment: 'used',
    note: '1 to 20: `completion_probabilities` in the reply; 0: none',
  },
  { name: 'response_fields', treatment: 'used', note: 'the reply has only these fields; `a/b` is the field `b` of `a`' },
  { name: 'cache_prompt', treatment: 'informational', note: 'equal prefixes are reused always; no text depends on it' },
  { name: 'id_slot', treatment: 'informational', note: 'the slot with the longest equal prefix is chosen' },
  { name: 'n_cache_reuse', treatment: 'informational', note: 'no text depends on it' },
  { name: 'n_discard', treatment: 'informational', note: 'a prompt is never shortened' },
  { name: 'n_keep', treatment: 'informational', note: 'a prompt is never shortened' },
  {
    name: 'return_progress',
    treatment: 'informational',
    note: 'a stream has comments while it waits, and no events of progress',
  },
  { name: 'return_tokens', treatment: 'informational', note: '`tokens` is empty' },
  { name: 'sse_ping_interval', treatment: 'informational', note: 'the server has an interval of its own' },
  { name: 't_max_prompt_ms', treatment: 'informational', note: 'llama-server does not read it either' },
  { name: 'timings_per_token', treatment: 'informational', note: '`timings` are in the last event' },
  {
    name: 'add_bos_token',
    treatment: 'refused',
    accepts: [true],
    note: "a prompt gets the model's own first token, if it has one; without it, send token ids",
  },
  { name: 'post_sampling_probs', treatment: 'refused', accepts: [false], note: 'probabilities are those of the model' },
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...serverFields,
  ...cancelFields,
  ...refusedMedia,
  // Editors always send it: the reply names it as ignored.
  ...refusedExtensions.filter(({ name }) => name !== 't_max_predict_ms'),
]

/** Every field of `POST /completion`. */
export const completionFields: readonly Field[] = [
  { name: 'prompt', treatment: 'used', note: 'a string, token ids, or an array of these, whose reply is an array' },
  ...shared,
]

/** Every field of `POST /infill`. */
export const infillFields: readonly Field[] = [
  { name: 'input_prefix', treatment: 'used', note: 'the text before the cursor' },
  { name: 'input_suffix', treatment: 'used', note: 'the text after it' },
  { name: 'input_extra', treatment: 'used', note: 'texts of other files, which come before the prefix' },
  { name: 'prompt', treatment: 'used', note: 'the beginning of the middle, which the model continues' },
  ...shared,
]

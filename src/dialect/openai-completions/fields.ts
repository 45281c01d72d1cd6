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
import { runningFields } from '../openai/times/running-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

/** The protocol's default, which is OpenAI's. */
export const defaultMaxTokens = 16

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  sharedOpenaiFields.model,
  {
    name: 'prompt',
    treatment: 'used',
    note: 'a string, whose control tokens are read, token ids, or an array of either; several prompts run side by side, on slots that nobody else waits for, and their pieces mix in a stream',
  },
  {
    name: 'echo',
    treatment: 'used',
    note: 'the text starts with the prompt; with `logprobs`, its tokens are scored too, which an engine may refuse, and `n` is at most 4',
  },
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  { name: 'logprobs', treatment: 'used', note: '0 to 20 top log-probabilities per token; true: 1; false: none' },
  { name: 'n_probs', treatment: 'used', note: "llama.cpp's name of `logprobs`, where 0 is none" },
  {
    name: 'max_tokens',
    aliases: ['max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
    treatment: 'used',
    note: `at least 1, with \`echo\` at least 0; -1: none; absent: ${defaultMaxTokens}, as in OpenAI's API; ${givesWay}`,
  },
  sharedOpenaiFields.n,
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.stream,
  sharedOpenaiFields.streamOptions,
  {
    name: 'suffix',
    treatment: 'used',
    note: 'the text after the output; 400 for models without infill tokens; not with token ids, not with `echo` and `logprobs`',
  },
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
]

const refusedHere: readonly Field[] = [
  {
    name: 'add_bos_token',
    treatment: 'refused',
    accepts: [true],
    note: "a prompt gets the model's own first token, if it has one; without it, send token ids",
  },
  { name: 'response_prefix', treatment: 'refused', accepts: [''], note: 'put it at the end of the prompt' },
]

/** Every top-level request field of `POST /v1/completions` that Dragoman knows, and what it does with it. */
export const completionFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...runningFields,
  ...serverFields,
  ...cancelFields,
  ...refusedMedia,
  ...refusedExtensions,
  ...refusedHere,
]

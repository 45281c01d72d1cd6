import {
  adapterField,
  constraintFields,
  minimumField,
  promptLogprobsField,
  refusedExtensions,
  refusedMedia,
  samplingExtensions,
  sharedOpenaiFields,
} from '../openai/common-fields.ts'
import { serverFields, textServerFields } from '../openai/server-fields.ts'
import { runningFields } from '../openai/times/running-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, refused, used } from '../wire/field-table.ts'

/** The protocol's default, which is OpenAI's. */
export const defaultMaxTokens = 16

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  sharedOpenaiFields.model,
  used(
    'prompt',
    'a string, whose control tokens are read, token ids, or an array of either; several prompts run side by side, on slots that nobody else waits for, and their pieces mix in a stream',
  ),
  used(
    'echo',
    'the text starts with the prompt; with `logprobs`, its tokens are scored too, which an engine may refuse, and `n` is at most 4',
  ),
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  used('logprobs', '0 to 20 top log-probabilities per token; true: 1; false: none'),
  used('n_probs', "llama.cpp's name of `logprobs`, where 0 is none"),
  used(
    'max_tokens',
    `at least 1, with \`echo\` at least 0; -1: none; absent: ${defaultMaxTokens}, as in OpenAI's API; ${givesWay}`,
    { aliases: ['max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'] },
  ),
  sharedOpenaiFields.n,
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.stream,
  sharedOpenaiFields.streamOptions,
  used(
    'suffix',
    'the text after the output; 400 for models without infill tokens; not with token ids, not with `echo` and `logprobs`',
  ),
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
]

const specialTokensField = used(
  'skip_special_tokens',
  'false: the text has special tokens, up to the end of the turn; the embedded engine, and servers of the kinds `vllm`, `aphrodite`, `sglang`',
)

const refusedHere: readonly Field[] = [refused('response_prefix', 'put it at the end of the prompt', { accepts: [''] })]

/** Every top-level request field of `POST /v1/completions` that Dragoman knows, and how it is treated. */
export const completionFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  specialTokensField,
  adapterField,
  minimumField,
  ...runningFields,
  ...serverFields,
  ...textServerFields,
  ...cancelFields,
  ...refusedMedia,
  ...refusedExtensions,
  promptLogprobsField,
  ...refusedHere,
]

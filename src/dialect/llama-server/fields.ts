import { refusedPromptLogprobs } from '../openai/common-fields.ts'
import { completionFields as openaiCompletionFields } from '../openai-completions/fields.ts'
import { type Field, givesWay, informational, refused, used } from '../wire/field-table.ts'

/** Fields that completions lack or treat differently. */
const ownFields: readonly Field[] = [
  used(
    'n_predict',
    `absent and -1: up to the context; 0: the prompt is read into the cache, and the reply is empty; ${givesWay}`,
    { aliases: ['max_tokens', 'max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'num_predict'] },
  ),
  used('n_probs', '1 to 20: `completion_probabilities` in the reply; 0: none', { aliases: ['logprobs'] }),
  used('response_fields', 'the reply has only these fields; `a/b` is the field `b` of `a`'),
  informational('cache_prompt', 'equal prefixes are reused always; no text depends on it'),
  informational('id_slot', 'the slot with the longest equal prefix is chosen'),
  informational('n_cache_reuse', 'no text depends on it'),
  informational('n_discard', 'a prompt is never shortened'),
  informational('n_keep', 'a prompt is never shortened'),
  informational('sse_ping_interval', 'the server has an interval of its own'),
  informational('t_max_prompt_ms', 'llama-server does not read it either'),
  refused('post_sampling_probs', 'probabilities are those of the model', { accepts: [false] }),
  refusedPromptLogprobs,
]
const own = new Set(ownFields.map(({ name }) => name))
/** Fields with another form here. */
const absent = ['prompt', 'echo', 'suffix', 'logprobs', 'max_tokens', 'stream_options', 'response_prefix']

const shared: readonly Field[] = [
  ...ownFields,
  ...openaiCompletionFields.filter(({ name }) => !own.has(name) && !absent.includes(name)),
]

export const completionFields: readonly Field[] = [
  used('prompt', 'a string, token ids, `{ prompt_string }`, or an array of these, whose reply is an array'),
  ...shared,
]

export const infillFields: readonly Field[] = [
  used('input_prefix', 'the text before the cursor'),
  used('input_suffix', 'the text after it'),
  used('input_extra', 'texts of other files, which come before the prefix'),
  used('prompt', 'the beginning of the middle, which the model continues'),
  ...shared,
]

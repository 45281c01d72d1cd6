import { completionFields as openaiCompletionFields } from '../openai-completions/fields.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

/** What completions lack, or treat otherwise. */
const ownFields: readonly Field[] = [
  {
    name: 'logit_bias',
    treatment: 'used',
    note: "a list of `[token id, value from -100 to 100]`, where false is -100; or an object, as in OpenAI's API",
  },
  {
    name: 'n_predict',
    aliases: ['max_tokens', 'max_completion_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'num_predict'],
    treatment: 'used',
    note: `absent and -1: up to the context; 0: the prompt is read into the cache, and the reply is empty; ${givesWay}`,
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
  { name: 'sse_ping_interval', treatment: 'informational', note: 'the server has an interval of its own' },
  { name: 't_max_prompt_ms', treatment: 'informational', note: 'llama-server does not read it either' },
  { name: 'post_sampling_probs', treatment: 'refused', accepts: [false], note: 'probabilities are those of the model' },
]
const own = new Set(ownFields.map(({ name }) => name))
/** Those of another form here, and `t_max_predict_ms`, which editors always send: the reply names it as ignored. */
const absent = ['prompt', 'echo', 'suffix', 'logprobs', 'max_tokens', 'stream_options', 'response_prefix', 't_max_predict_ms']

const shared: readonly Field[] = [
  ...ownFields,
  ...openaiCompletionFields.filter(({ name }) => !own.has(name) && !absent.includes(name)),
]

/** Every field of `POST /completion`. */
export const completionFields: readonly Field[] = [
  {
    name: 'prompt',
    treatment: 'used',
    note: 'a string, token ids, `{ prompt_string }`, or an array of these, whose reply is an array',
  },
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

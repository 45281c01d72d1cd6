import { minimumField, refusedExtensions, samplingExtensions, sharedOpenaiFields } from '../openai/common-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, spellings } from '../wire/field-table.ts'

const model: Field = { name: 'model', treatment: 'used', note: '`NAME:latest` is also `NAME`; letters of any case' }
const keepAlive: Field = {
  name: 'keep_alive',
  treatment: 'used',
  note: 'seconds, or a duration such as `5m`: how long the model stays in memory after the request; below 0 for ever, 0 not at all; of keys with scope `admin`, others are named as ignored',
}
const truncate: Field = {
  name: 'truncate',
  treatment: 'informational',
  note: 'a prompt is never cut: one that is too long is a 400',
}

/** What chats and texts have in common. */
const generating: readonly Field[] = [
  model,
  { name: 'stream', treatment: 'used', note: 'lines of JSON (`application/x-ndjson`); absent: true' },
  { name: 'format', treatment: 'used', note: '`json`, or a JSON Schema; an empty text is none' },
  {
    name: 'think',
    treatment: 'used',
    note: 'true, false, or an effort: `low`, `medium`, `high`, `max`; 400 for true or an effort where the model does not think',
  },
  { name: 'options', treatment: 'used', note: 'see the table of `options`' },
  keepAlive,
  { name: 'logprobs', treatment: 'used', note: 'the log-probability of each token' },
  { name: 'top_logprobs', treatment: 'used', note: '0 to 20; without `logprobs`, nothing' },
  truncate,
  { name: 'shift', treatment: 'informational', note: 'an answer ends with `length` where the context is full' },
  ...cancelFields,
]

/** The request fields of `POST /api/chat`. */
export const chatFields: readonly Field[] = [
  ...generating,
  { name: 'messages', treatment: 'used', note: 'none: the model is loaded, or unloaded with `keep_alive` 0' },
  { name: 'tools', treatment: 'used', note: 'functions' },
  { name: '_debug_render_only', treatment: 'refused', accepts: [false], note: 'use `POST /apply-template`' },
]

/** The request fields of `POST /api/generate`. */
export const generateFields: readonly Field[] = [
  ...generating,
  { name: 'prompt', treatment: 'used', note: 'empty: the model is loaded, or unloaded with `keep_alive` 0' },
  {
    name: 'system',
    treatment: 'used',
    note: 'the system message before the prompt; not with `raw`; with `suffix`, it is named as ignored',
  },
  { name: 'images', treatment: 'used', note: 'base64; they are read before the prompt; not with `raw` or `suffix`' },
  {
    name: 'raw',
    treatment: 'used',
    note: 'true: the prompt as it is, without the chat template; thinking is not separated then',
  },
  { name: 'suffix', treatment: 'used', note: 'the text after the output; 400 for models without infill tokens' },
  {
    name: 'template',
    treatment: 'refused',
    accepts: [''],
    note: "Go templates are not rendered; the model's own chat template is used",
  },
  { name: 'context', treatment: 'refused', accepts: [[]], note: 'context is deprecated: send messages to /api/chat' },
]

/** Samplers of the other protocols' tables that change the output where they are on. */
const refusedSamplers = [...['bad_words_ids', 'epsilon_cutoff', 'min_keep', 'no_repeat_ngram_size', 'penalty_alpha']]

const loading = "how a model is loaded is the operator's"
const loadOptions: readonly Field[] = [
  ...['draft_num_predict', 'f16_kv', 'logits_all', 'low_vram', 'main_gpu', 'num_batch', 'num_gpu', 'num_thread', 'numa'],
  ...['use_mlock', 'use_mmap', 'vocab_only'],
].map((name) => ({ name, treatment: 'informational', note: loading }))

/** The fields inside `options`, by their names there. */
export const optionFields: readonly Field[] = [
  {
    name: 'num_predict',
    treatment: 'used',
    note: `below 0: no limit; 0: an empty answer; ${givesWay}`,
  },
  { name: 'num_ctx', treatment: 'informational', note: "the model's context is what the operator set; a longer prompt is a 400" },
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.logitBias,
  ...samplingExtensions,
  minimumField,
  { name: 'num_keep', treatment: 'informational', note: 'nothing is dropped from a context' },
  { name: 'penalize_newline', treatment: 'refused', accepts: [true], note: 'penalties count line breaks like all else' },
  ...loadOptions,
  ...refusedExtensions.filter(({ name }) => refusedSamplers.includes(name)),
]

/** The same rows with the paths that a caller sees. */
export const nestedOptionFields: readonly Field[] = optionFields.map((field) => {
  const [name = '', ...aliases] = spellings(field).map((spelling) => `options.${spelling}`)
  return { ...field, name, aliases }
})

/** The request fields of `POST /api/embed`. */
export const embedFields: readonly Field[] = [
  model,
  { name: 'input', treatment: 'used', note: 'a string or a list of them; none: the model is loaded' },
  { name: 'dimensions', treatment: 'used', note: '0 or absent: all' },
  keepAlive,
  { ...truncate, note: 'an input is never cut: one that is longer than the context is a 400' },
  { name: 'options', treatment: 'informational', note: 'nothing is sampled' },
]

/** The request fields of `POST /api/embeddings`. */
export const embeddingsFields: readonly Field[] = [
  model,
  { name: 'prompt', treatment: 'used', note: 'a string; empty: the model is loaded' },
  keepAlive,
  { name: 'truncate', treatment: 'informational', note: 'as of `POST /api/embed`' },
  { name: 'options', treatment: 'informational', note: 'nothing is sampled' },
]

const named: readonly Field[] = [{ ...model, aliases: ['name'] }]

/** The request fields of `POST /api/show`. */
export const showFields: readonly Field[] = [
  ...named,
  { name: 'verbose', treatment: 'informational', note: 'tokens and tensors are not listed' },
  ...['system', 'template', 'options'].map(
    (name): Field => ({ name, treatment: 'informational', note: 'what is shown is the model as it is' }),
  ),
]

/** The request fields of `POST /api/pull`. */
export const pullFields: readonly Field[] = [
  {
    ...model,
    aliases: ['name'],
    note: 'a model that is served, which is there already; else `hf.co/OWNER/REPO` or `OWNER/REPO`, with `:QUANT`',
  },
  { name: 'stream', treatment: 'used', note: 'a line for each step; absent: true' },
  { name: 'insecure', treatment: 'informational', note: 'sources are asked by HTTPS' },
]

/** The request fields of `DELETE /api/delete`. */
export const deleteFields: readonly Field[] = named

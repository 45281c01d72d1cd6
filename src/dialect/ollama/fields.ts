import { minimumField, refusedExtensions, samplingExtensions, sharedOpenaiFields } from '../openai/common-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, informational, refused, spellings, used } from '../wire/field-table.ts'

const model: Field = used('model', '`NAME:latest` is also `NAME`; letters of any case')
const keepAlive: Field = used(
  'keep_alive',
  'seconds, or a duration such as `5m`: how long the model stays in memory after the request; below 0 for ever, 0 not at all; of keys with scope `admin`, others are named as ignored',
)
const truncate: Field = informational('truncate', 'a prompt is never cut: one that is too long is a 400')

/** The fields that chats and texts share. */
const generating: readonly Field[] = [
  model,
  used('stream', 'lines of JSON (`application/x-ndjson`); absent: true'),
  used('format', '`json`, or a JSON Schema; an empty text is none'),
  used(
    'think',
    'true, false, or an effort: `low`, `medium`, `high`, `max`; 400 for true or an effort where the model does not think',
  ),
  used('options', 'see the table of `options`'),
  keepAlive,
  used('logprobs', 'the log-probability of each token'),
  used('top_logprobs', '0 to 20; without `logprobs`, nothing'),
  truncate,
  informational('shift', 'an answer ends with `length` where the context is full'),
  ...cancelFields,
]

/** The request fields of `POST /api/chat`. */
export const chatFields: readonly Field[] = [
  ...generating,
  used('messages', 'none: the model is loaded, or unloaded with `keep_alive` 0'),
  used('tools', 'functions'),
  refused('_debug_render_only', 'use `POST /apply-template`', { accepts: [false] }),
]

/** The request fields of `POST /api/generate`. */
export const generateFields: readonly Field[] = [
  ...generating,
  used('prompt', 'empty: the model is loaded, or unloaded with `keep_alive` 0'),
  used('system', 'the system message before the prompt; not with `raw`; with `suffix`, it is named as ignored'),
  used('images', 'base64; they are read before the prompt; not with `raw` or `suffix`'),
  used('raw', 'true: the prompt as it is, without the chat template; thinking is not separated then'),
  used('suffix', 'the text after the output; 400 for models without infill tokens'),
  refused('template', "Go templates are not rendered; the model's own chat template is used", { accepts: [''] }),
  refused('context', 'context is deprecated: send messages to /api/chat', { accepts: [[]] }),
]

/** Samplers in the other protocols' tables that change the output when switched on. */
const refusedSamplers = [...['bad_words_ids', 'epsilon_cutoff', 'min_keep', 'no_repeat_ngram_size', 'penalty_alpha']]

const loading = "how a model is loaded is the operator's"
const loadOptions: readonly Field[] = [
  ...['draft_num_predict', 'f16_kv', 'logits_all', 'low_vram', 'main_gpu', 'num_batch', 'num_gpu', 'num_thread', 'numa'],
  ...['use_mlock', 'use_mmap', 'vocab_only'],
].map((name) => informational(name, loading))

/** The fields inside `options`, by their names there. */
export const optionFields: readonly Field[] = [
  used('num_predict', `below 0: no limit; 0: an empty answer; ${givesWay}`),
  informational('num_ctx', "the model's context is what the operator set; a longer prompt is a 400"),
  sharedOpenaiFields.temperature,
  sharedOpenaiFields.topP,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.presencePenalty,
  sharedOpenaiFields.logitBias,
  ...samplingExtensions,
  minimumField,
  informational('num_keep', 'nothing is dropped from a context'),
  refused('penalize_newline', 'penalties count line breaks like all else', { accepts: [true] }),
  ...loadOptions,
  ...refusedExtensions.filter(({ name }) => refusedSamplers.includes(name)),
]

/** The same rows with the paths that callers see. */
export const nestedOptionFields: readonly Field[] = optionFields.map((field) => {
  const [name = '', ...aliases] = spellings(field).map((spelling) => `options.${spelling}`)
  return { ...field, name, aliases }
})

/** The request fields of `POST /api/embed`. */
export const embedFields: readonly Field[] = [
  model,
  used('input', 'a string or a list of them; none: the model is loaded'),
  used('dimensions', '0 or absent: all'),
  keepAlive,
  used('truncate', 'true: an input that is too long is cut, and the header `x-dragoman-dropped` names it; absent: it is a 400'),
  informational('options', 'nothing is sampled'),
]

/** The request fields of `POST /api/embeddings`. */
export const embeddingsFields: readonly Field[] = [
  model,
  used('prompt', 'a string; empty: the model is loaded'),
  keepAlive,
  used('truncate', 'as of `POST /api/embed`'),
  informational('options', 'nothing is sampled'),
]

const named: readonly Field[] = [{ ...model, aliases: ['name'] }]

/** The request fields of `POST /api/show`. */
export const showFields: readonly Field[] = [
  ...named,
  informational('verbose', 'tokens and tensors are not listed'),
  ...['system', 'template', 'options'].map((name): Field => informational(name, 'what is shown is the model as it is')),
]

/** The request fields of `POST /api/pull`. */
export const pullFields: readonly Field[] = [
  {
    ...model,
    aliases: ['name'],
    note: 'a model that is served, which is there already; else `hf.co/OWNER/REPO` or `OWNER/REPO`, with `:QUANT`',
  },
  used('stream', 'a line for each step; absent: true'),
  informational('insecure', 'sources are asked by HTTPS'),
]

export const deleteFields: readonly Field[] = named

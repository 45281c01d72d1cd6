import { cancelFields } from '../wire/cancel-keys.ts'
import type { Field } from '../wire/field-table.ts'

const model: Field = { name: 'model_id', treatment: 'used', note: 'an id or an alias; absent: the default model' }

/** Fields of other protocols that would change the output, and where this protocol has them. */
const elsewhere: readonly Field[] = [
  { name: 'max_tokens', treatment: 'refused', note: 'send `sampling_params.max_tokens`' },
  { name: 'repetition_penalty', treatment: 'refused', accepts: [1], note: 'send `sampling_params.repetition_penalty`' },
  { name: 'stop', treatment: 'refused', accepts: [[]], note: 'send `sampling_params.stop`' },
  {
    name: 'temperature',
    aliases: ['top_p', 'top_k'],
    treatment: 'refused',
    note: 'send `sampling_params.strategy`',
  },
]

const commonFields: readonly Field[] = [
  model,
  {
    name: 'sampling_params',
    treatment: 'used',
    note: "`strategy` (`greedy`, which is its default, `top_p`, `top_k`), `max_tokens` (0 or -1: no limit), `repetition_penalty` (above 0; 1 is off), `stop` (up to 1,024); absent: the model's own defaults",
  },
  {
    name: 'response_format',
    treatment: 'used',
    note: '`json_schema`, or `grammar` with GBNF as a string in `bnf`; `bnf` as an object is refused',
  },
  { name: 'logprobs', treatment: 'used', note: '`top_k`, 0 to 20; 0 reports none' },
  ...cancelFields,
  ...elsewhere,
]

const stream: Field = { name: 'stream', treatment: 'used', note: 'server-sent events' }

const toolFields: readonly Field[] = [
  {
    name: 'tools',
    treatment: 'used',
    note: 'functions by `tool_name`, `description`, `parameters`; `brave_search`, `wolfram_alpha`, `photogen` and `code_interpreter` need no parameters; the client runs them: for those that run here, send `toolgroups`',
  },
  { name: 'tool_choice', treatment: 'used', note: '`auto`, `required`, `none`; must agree with `tool_config`' },
  { name: 'tool_prompt_format', treatment: 'used', note: 'must agree with `tool_config`' },
  {
    name: 'tool_config',
    treatment: 'used',
    note: "`tool_choice` (also the name of a tool); `tool_prompt_format` (`json`, `function_tag`, `python_list`: written into the system message, instead of the model's own format); `system_message_behavior` (`append`; `replace` puts the definitions in place of `{{function_definitions}}`)",
  },
]

/** The fields of `POST /v1/inference/chat-completion`. */
export const chatFields: readonly Field[] = [
  {
    name: 'messages',
    treatment: 'used',
    note: '`user` (with `context`), `system`, `assistant`, `tool`; images as base64 in `data` or by `url`: [media](media.md)',
  },
  ...commonFields,
  stream,
  ...toolFields,
  {
    name: 'toolgroups',
    treatment: 'used',
    note: '[tools](tools.md) that run here, for keys that may use them: `builtin::websearch` or `brave_search`, `builtin::code_interpreter` or `code_interpreter`, `mcp::NAME`; the reply has only what the model says in the end',
  },
]

/** The fields of `POST /v1/inference/completion`. */
export const completionFields: readonly Field[] = [
  { name: 'content', treatment: 'used', note: 'text; images are refused' },
  ...commonFields,
  stream,
]

const batchCommonFields: readonly Field[] = [
  {
    ...model,
    note: 'an id or an alias; `model` where it is absent, then the default model, as old clients of `/v1/batch-inference` send it',
  },
  ...commonFields.filter((field) => field !== model),
]

/** The fields of `POST /v1/inference/batch-chat-completion` and `POST /v1/batch-inference/chat-completion`. */
export const batchChatFields: readonly Field[] = [
  {
    name: 'messages_batch',
    treatment: 'used',
    note: 'up to 128 conversations, which run side by side, on slots that nobody else waits for; the reply has their answers in order',
  },
  ...batchCommonFields,
  ...toolFields,
  { name: 'toolgroups', treatment: 'refused', accepts: [[]], note: 'a batch runs no tools' },
]

/** The fields of `POST /v1/inference/batch-completion` and `POST /v1/batch-inference/completion`. */
export const batchCompletionFields: readonly Field[] = [
  {
    name: 'content_batch',
    treatment: 'used',
    note: 'up to 128 texts, which run side by side, on slots that nobody else waits for; the reply has their continuations in order',
  },
  ...batchCommonFields,
]

/** The fields of `POST /v1/inference/embeddings`. */
export const embeddingsFields: readonly Field[] = [
  model,
  { name: 'contents', treatment: 'used', note: 'up to 2048 texts; images are refused' },
  {
    name: 'output_dimension',
    treatment: 'used',
    note: "at most the model's: the first numbers of each vector, normalized to length 1",
  },
  { name: 'text_truncation', treatment: 'refused', accepts: ['none'], note: 'a text is never truncated' },
  { name: 'task_type', treatment: 'refused', note: 'put the instruction in front of the text' },
]

/** The fields of `POST /v1/inference/rerank`. */
export const rerankFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'an id or an alias of a model with a ranking head; absent: the default model' },
  { name: 'query', treatment: 'used', note: 'a text or a text part; images are refused' },
  { name: 'items', treatment: 'used', note: 'up to 2048 texts or text parts; images are refused' },
  { name: 'max_num_results', treatment: 'used', note: 'the number of best results in the reply; absent: all' },
]

/** Fields inside the objects of these protocols that would change the output. */
export const nestedFields: readonly Field[] = [
  {
    name: 'sampling_params.temperature',
    aliases: ['sampling_params.top_p', 'sampling_params.top_k'],
    treatment: 'refused',
    note: 'send it inside `sampling_params.strategy`',
  },
]

import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, refused, used } from '../wire/field-table.ts'

const model: Field = used('model_id', 'an id or an alias; absent: the default model')

/** Fields of other protocols that would change the output, with their place in this protocol. */
const elsewhere: readonly Field[] = [
  refused('max_tokens', 'send `sampling_params.max_tokens`'),
  refused('repetition_penalty', 'send `sampling_params.repetition_penalty`', { accepts: [1] }),
  refused('stop', 'send `sampling_params.stop`', { accepts: [[]] }),
  refused('temperature', 'send `sampling_params.strategy`', { aliases: ['top_p', 'top_k'] }),
]

const commonFields: readonly Field[] = [
  model,
  used(
    'sampling_params',
    "`strategy` (`greedy`, which is its default, `top_p`, `top_k`), `max_tokens` (0 or -1: no limit), `repetition_penalty` (above 0; 1 is off), `stop` (up to 1,024); absent: the model's own defaults",
  ),
  used('response_format', '`json_schema`, or `grammar` with GBNF as a string in `bnf`; `bnf` as an object is refused'),
  used('logprobs', '`top_k`, 0 to 20; 0 reports none'),
  ...cancelFields,
  ...elsewhere,
]

const stream: Field = used('stream', 'server-sent events')

const toolFields: readonly Field[] = [
  used(
    'tools',
    'functions by `tool_name`, `description`, `parameters`; `brave_search`, `wolfram_alpha`, `photogen` and `code_interpreter` need no parameters; the client runs them: for those that run here, send `toolgroups`',
  ),
  used('tool_choice', '`auto`, `required`, `none`; must agree with `tool_config`'),
  used('tool_prompt_format', 'must agree with `tool_config`'),
  used(
    'tool_config',
    "`tool_choice` (also the name of a tool); `tool_prompt_format` (`json`, `function_tag`, `python_list`: written into the system message, instead of the model's own format); `system_message_behavior` (`append`; `replace` puts the definitions in place of `{{function_definitions}}`)",
  ),
]

/** The fields of `POST /v1/inference/chat-completion`. */
export const chatFields: readonly Field[] = [
  used(
    'messages',
    '`user` (with `context`), `system`, `assistant`, `tool`; images as base64 in `data` or by `url`: [media](media.md)',
  ),
  ...commonFields,
  stream,
  ...toolFields,
  used(
    'toolgroups',
    '[tools](tools.md) that run here, for keys that may use them: `builtin::websearch` or `brave_search`, `builtin::code_interpreter` or `code_interpreter`, `mcp::NAME`; the reply has only what the model says in the end',
  ),
]

export const completionFields: readonly Field[] = [used('content', 'text; images are refused'), ...commonFields, stream]

const batchCommonFields: readonly Field[] = [
  {
    ...model,
    note: 'an id or an alias; `model` where it is absent, then the default model, as old clients of `/v1/batch-inference` send it',
  },
  ...commonFields.filter((field) => field !== model),
]

/** The fields of `POST /v1/inference/batch-chat-completion` and `POST /v1/batch-inference/chat-completion`. */
export const batchChatFields: readonly Field[] = [
  used(
    'messages_batch',
    'up to 128 conversations, which run side by side, on slots that nobody else waits for; the reply has their answers in order',
  ),
  ...batchCommonFields,
  ...toolFields,
  refused('toolgroups', 'a batch runs no tools', { accepts: [[]] }),
]

/** The fields of `POST /v1/inference/batch-completion` and `POST /v1/batch-inference/completion`. */
export const batchCompletionFields: readonly Field[] = [
  used(
    'content_batch',
    'up to 128 texts, which run side by side, on slots that nobody else waits for; the reply has their continuations in order',
  ),
  ...batchCommonFields,
]

export const embeddingsFields: readonly Field[] = [
  model,
  used('contents', 'up to 2048 texts; images are refused'),
  used('output_dimension', "at most the model's: the first numbers of each vector, normalized to length 1"),
  refused('text_truncation', 'a text is never truncated', { accepts: ['none'] }),
  refused('task_type', 'put the instruction in front of the text'),
]

export const rerankFields: readonly Field[] = [
  used('model', 'an id or an alias of a model with a ranking head; absent: the first that is known to have one'),
  used('query', 'a text or a text part; images are refused'),
  used('items', 'up to 2048 texts or text parts; images are refused'),
  used('max_num_results', 'the number of best results in the reply; absent: all'),
]

/** Fields inside the objects of these protocols that would change the output. */
export const nestedFields: readonly Field[] = [
  refused('sampling_params.temperature', 'send it inside `sampling_params.strategy`', {
    aliases: ['sampling_params.top_p', 'sampling_params.top_k'],
  }),
]

import {
  adapterField,
  constraintFields,
  minimumField,
  nestedConstraintFields,
  passedOn,
  promptCacheFields,
  promptTemplateField,
  refusedExtensions,
  refusedMedia,
  refusedProbs,
  refusedPromptLogprobs,
  samplingExtensions,
  sharedOpenaiFields,
  templateBosField,
} from '../openai/common-fields.ts'
import { chatServerFields, serverFields } from '../openai/server-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, informational, refused, used } from '../wire/field-table.ts'

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  used('background', 'the response continues without the connection, and lets other requests go first; needs `store`'),
  used('context_management', '`compaction` with `compact_threshold`: a longer conversation is summarised first'),
  used('conversation', 'an id, or an object with one; not with `previous_response_id`'),
  used(
    'include',
    '`reasoning.encrypted_content`, `message.output_text.logprobs`; sources and outputs of [tools](tools.md) that run here are always there; others are ignored and listed',
  ),
  used(
    'input',
    'a text or items, also `additional_tools`; the model sees calls of [tools](tools.md) that run here with what they returned; items of other tools that OpenAI runs are ignored and listed, also unknown ones without `role` and `content`, and an input of which nothing is left is refused; [media](media.md) as data or other URLs and by file id',
  ),
  used('instructions', 'the first system message; never taken from a previous response'),
  used('max_output_tokens', `at least 1; absent, or -1: until the model stops or the context is full; ${givesWay}`, {
    aliases: ['max_completion_tokens', 'max_tokens', 'max_length', 'max_new_tokens', 'n_predict', 'num_predict'],
  }),
  used('max_tool_calls', 'how many calls of [tools](tools.md) may run here'),
  used('metadata', `up to 16 pairs, which the response repeats; ${passedOn}`),
  sharedOpenaiFields.model,
  refused('moderation', 'no moderation model'),
  used('parallel_tool_calls', 'false: at most one call in a response'),
  used('previous_response_id', 'the response that this one continues; not with `conversation`'),
  refused('prompt', 'no stored prompts: send `instructions` and `input`'),
  ...promptCacheFields.filter(({ name }) => name !== 'prompt_cache_options'),
  used(
    'prompt_cache_options',
    '`comparison_response_id`: how the prompt differs from that of a response of this key, in `prompt_cache_diagnostics`; equal prefixes are reused without it',
  ),
  used(
    'reasoning',
    '`effort`: any string, passed to the chat template, `none` switches thinking off, any other on; `summary`, `generate_summary`: the thoughts are shown as a summary; `context`: whether the model sees those of earlier turns',
  ),
  used('safety_identifier', `identifies the client's end user; ${passedOn}`),
  used('service_tier', `\`flex\` lets other requests go first; ${passedOn}; the response says \`default\``),
  used('store', 'default true'),
  sharedOpenaiFields.stream,
  informational('stream_options', 'events are not padded: `include_obfuscation` has no effect'),
  sharedOpenaiFields.temperature,
  used('text', '`format`: `text`, `json_object`, `json_schema`; `verbosity` is passed to the chat template'),
  used(
    'tool_choice',
    '`none`, `auto`, `required`, a function, a custom tool or `allowed_tools`; also [tools](tools.md) that run here; others are refused',
  ),
  used(
    'tools',
    'functions, `custom` tools, namespaces of both, and a `tool_search` that the client runs; `web_search`, `code_interpreter` and `mcp` run here for keys that may use [tools](tools.md); of the others that OpenAI runs or defines, those that agents declare by habit are left out and listed, the rest is refused: [strictness](reference/strictness.md)',
  ),
  used('top_logprobs', '0 to 20; above 0, output texts have log-probabilities'),
  sharedOpenaiFields.topP,
  used(
    'truncation',
    '`auto`: the oldest turns give way to the context length, and the header `x-dragoman-dropped` names them; default `disabled`',
  ),
  sharedOpenaiFields.user,
]

/** Fields of other protocols and servers that Dragoman supports here too. */
const extensions: readonly Field[] = [
  templateBosField,
  informational('client_metadata', "Codex's description of itself"),
  used('enable_thinking', 'takes precedence over `reasoning`'),
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  sharedOpenaiFields.presencePenalty,
  promptTemplateField,
  used('reasoning_budget_tokens', 'thinking ends after this many tokens; 0: immediately; negative: no limit', {
    aliases: ['reasoning_budget', 'thinking_budget', 'thinking_token_budget', 'thinking_budget_tokens'],
  }),
  sharedOpenaiFields.reasoningBudgetMessage,
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  used('template_vars', 'variables for the chat template; they take precedence over every other field', {
    aliases: ['chat_template_kwargs'],
  }),
]

const refusedHere: readonly Field[] = [
  refused('add_generation_prompt', 'a response is a new turn', { accepts: [true] }),
  refused('chat_template', 'name a template of the server: `prompt_template`'),
  refused('continue_final_message', 'a response is a new turn', { accepts: [false] }),
  refused('documents', 'send `template_vars` with `documents`', { accepts: [[]] }),
  refused('echo', 'a response contains generated text only', { accepts: [false] }),
  refused('functions', 'use `tools`', { aliases: ['function_call'], accepts: [[]] }),
  refused('include_reasoning', 'reasoning is an item of its own', { accepts: [true] }),
  refused('logprobs', 'use `top_logprobs` or `include`', { accepts: [false, 0] }),
  refused('max_infer_iters', 'use `max_tool_calls`', { accepts: [1] }),
  refused('messages', 'use `input`'),
  refused('n', 'a response has one answer', { accepts: [1] }),
  refused('preserve_thinking', 'use `reasoning.context`'),
  refused('reasoning_effort', 'use `reasoning.effort`'),
  refused('response_prefix', 'a response is a new turn', { accepts: [''] }),
  refused('suffix', 'not available for chats', { accepts: [''] }),
  refused('thinking', 'use `reasoning` or `enable_thinking`'),
  refused('verbosity', 'use `text.verbosity`'),
]

/** Every top-level request field of `POST /v1/responses` that Dragoman knows, and how it is treated. */
export const responseFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...serverFields,
  ...chatServerFields,
  ...cancelFields,
  ...extensions,
  ...refusedMedia,
  ...refusedExtensions,
  refusedPromptLogprobs,
  refusedProbs,
  ...refusedHere,
]

/** Fields inside the objects of a request that need a note, by their paths. */
export const nestedResponseFields: readonly Field[] = nestedConstraintFields.filter(({ name }) => !name.startsWith('messages[]'))

/** The fields of `POST /v1/responses/input_tokens`, which determine the prompt. */
export const inputTokensFields: readonly Field[] = pick([
  'conversation',
  'input',
  'instructions',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt_template',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
  'template_vars',
  'enable_thinking',
])

export const compactFields: readonly Field[] = [
  used('model', 'an id or an alias'),
  ...pick(['input', 'instructions', 'previous_response_id', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier']),
  ...promptCacheFields.filter(({ name }) => name === 'prompt_cache_options'),
]

/** Fields of a message over a WebSocket beside those of a response. */
export const clientEventFields: readonly Field[] = [
  used('type', '`response.create`'),
  used('stream_id', 'the lane: one response at a time in each; its events repeat it'),
  used('generate', '`false`: the request is only prepared, to be continued with `previous_response_id`'),
  informational('stream', 'a socket always streams'),
  refused('background', 'send it over HTTP', { accepts: [false] }),
]

function pick(names: readonly string[]): readonly Field[] {
  return responseFields.filter(({ name }) => names.includes(name))
}

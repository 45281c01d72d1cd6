import {
  adapterField,
  constraintFields,
  minimumField,
  nestedConstraintFields,
  refusedExtensions,
  refusedMedia,
  refusedProbs,
  samplingExtensions,
  sharedOpenaiFields,
} from '../openai/common-fields.ts'
import { serverFields } from '../openai/server-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

const passedOn = 'passed on to servers of kind `openai` and `dragoman`'

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  {
    name: 'background',
    treatment: 'used',
    note: 'the response continues without the connection, and lets other requests go first; needs `store`',
  },
  {
    name: 'context_management',
    treatment: 'used',
    note: '`compaction` with `compact_threshold`: a longer conversation is summarised first',
  },
  { name: 'conversation', treatment: 'used', note: 'an id, or an object with one; not with `previous_response_id`' },
  {
    name: 'include',
    treatment: 'used',
    note: '`reasoning.encrypted_content`, `message.output_text.logprobs`; sources and outputs of [tools](tools.md) that run here are always there; others are ignored and listed',
  },
  {
    name: 'input',
    treatment: 'used',
    note: 'a text or items, also `additional_tools`; the model sees calls of [tools](tools.md) that run here with what they returned; items of other tools that OpenAI runs are ignored and listed, also unknown ones without `role` and `content`, and an input of which nothing is left is refused; [media](media.md) as data or other URLs and by file id',
  },
  { name: 'instructions', treatment: 'used', note: 'the first system message; never taken from a previous response' },
  {
    name: 'max_output_tokens',
    aliases: ['max_completion_tokens', 'max_tokens', 'max_length', 'max_new_tokens', 'n_predict', 'num_predict'],
    treatment: 'used',
    note: `at least 1; absent, or -1: until the model stops or the context is full; ${givesWay}`,
  },
  {
    name: 'max_tool_calls',
    treatment: 'used',
    note: 'how many calls of [tools](tools.md) may run here',
  },
  { name: 'metadata', treatment: 'used', note: `up to 16 pairs, which the response repeats; ${passedOn}` },
  sharedOpenaiFields.model,
  { name: 'moderation', treatment: 'refused', note: 'no moderation model' },
  { name: 'parallel_tool_calls', treatment: 'used', note: 'false: at most one call in a response' },
  { name: 'previous_response_id', treatment: 'used', note: 'the response that this one continues; not with `conversation`' },
  { name: 'prompt', treatment: 'refused', note: 'no stored prompts: send `instructions` and `input`' },
  {
    name: 'prompt_cache_key',
    treatment: 'used',
    note: `${passedOn}; prompts that begin differently go to one replica with the same key; equal prefixes are reused without it`,
  },
  { name: 'prompt_cache_options', treatment: 'informational', note: 'equal prefixes are reused without it' },
  { name: 'prompt_cache_retention', treatment: 'used', note: `${passedOn}; here, equal prefixes are reused without it` },
  {
    name: 'reasoning',
    treatment: 'used',
    note: '`effort`: any string, passed to the chat template, `none` switches thinking off, any other on; `summary`, `generate_summary`: the thoughts are shown as a summary; `context`: whether the model sees those of earlier turns',
  },
  { name: 'safety_identifier', treatment: 'used', note: `identifies the client's end user; ${passedOn}` },
  {
    name: 'service_tier',
    treatment: 'used',
    note: `\`flex\` lets other requests go first; ${passedOn}; the response says \`default\``,
  },
  { name: 'store', treatment: 'used', note: 'default true' },
  sharedOpenaiFields.stream,
  { name: 'stream_options', treatment: 'informational', note: 'events are not padded: `include_obfuscation` has no effect' },
  sharedOpenaiFields.temperature,
  {
    name: 'text',
    treatment: 'used',
    note: '`format`: `text`, `json_object`, `json_schema`; `verbosity` is passed to the chat template',
  },
  {
    name: 'tool_choice',
    treatment: 'used',
    note: '`none`, `auto`, `required`, a function, a custom tool or `allowed_tools`; also [tools](tools.md) that run here; others are refused',
  },
  {
    name: 'tools',
    treatment: 'used',
    note: 'functions, `custom` tools, namespaces of both, and a `tool_search` that the client runs; `web_search`, `code_interpreter` and `mcp` run here for keys that may use [tools](tools.md); of the others that OpenAI runs or defines, those that agents declare by habit are left out and listed, the rest is refused: [strictness](strictness.md)',
  },
  { name: 'top_logprobs', treatment: 'used', note: '0 to 20; above 0, output texts have log-probabilities' },
  sharedOpenaiFields.topP,
  {
    name: 'truncation',
    treatment: 'used',
    note: '`auto`: the oldest turns give way to the context length, and the header `x-dragoman-dropped` names them; default `disabled`',
  },
  sharedOpenaiFields.user,
]

/** Fields of other protocols and servers that Dragoman supports here too. */
const extensions: readonly Field[] = [
  { name: 'client_metadata', treatment: 'informational', note: "Codex's description of itself" },
  { name: 'enable_thinking', treatment: 'used', note: 'takes precedence over `reasoning`' },
  sharedOpenaiFields.frequencyPenalty,
  sharedOpenaiFields.logitBias,
  sharedOpenaiFields.presencePenalty,
  {
    name: 'reasoning_budget_tokens',
    aliases: ['reasoning_budget', 'thinking_budget', 'thinking_token_budget'],
    treatment: 'used',
    note: 'thinking ends after this many tokens; 0: at once; negative: no limit',
  },
  sharedOpenaiFields.seed,
  sharedOpenaiFields.stop,
  {
    name: 'template_vars',
    aliases: ['chat_template_kwargs'],
    treatment: 'used',
    note: 'variables for the chat template; they take precedence over every other field',
  },
]

const refusedHere: readonly Field[] = [
  { name: 'add_bos_token', treatment: 'refused', note: 'the chat template decides' },
  { name: 'add_generation_prompt', treatment: 'refused', accepts: [true], note: 'a response is a new turn' },
  { name: 'chat_template', aliases: ['prompt_template'], treatment: 'refused', note: "the model's own template is used" },
  { name: 'continue_final_message', treatment: 'refused', accepts: [false], note: 'a response is a new turn' },
  { name: 'documents', treatment: 'refused', accepts: [[]], note: 'send `template_vars` with `documents`' },
  { name: 'echo', treatment: 'refused', accepts: [false], note: 'a response contains generated text only' },
  { name: 'functions', aliases: ['function_call'], treatment: 'refused', accepts: [[]], note: 'use `tools`' },
  { name: 'include_reasoning', treatment: 'refused', accepts: [true], note: 'reasoning is an item of its own' },
  { name: 'logprobs', treatment: 'refused', accepts: [false, 0], note: 'use `top_logprobs` or `include`' },
  { name: 'max_infer_iters', treatment: 'refused', accepts: [1], note: 'use `max_tool_calls`' },
  { name: 'messages', treatment: 'refused', note: 'use `input`' },
  { name: 'n', treatment: 'refused', accepts: [1], note: 'a response has one answer' },
  { name: 'preserve_thinking', treatment: 'refused', note: 'use `reasoning.context`' },
  { name: 'reasoning_budget_message', treatment: 'refused', accepts: [''], note: 'thinking ends without a message' },
  { name: 'reasoning_effort', treatment: 'refused', note: 'use `reasoning.effort`' },
  { name: 'response_prefix', treatment: 'refused', accepts: [''], note: 'a response is a new turn' },
  { name: 'suffix', treatment: 'refused', accepts: [''], note: 'not available for chats' },
  { name: 'thinking', treatment: 'refused', note: 'use `reasoning` or `enable_thinking`' },
  { name: 'verbosity', treatment: 'refused', note: 'use `text.verbosity`' },
]

/** Every top-level request field of `POST /v1/responses` that Dragoman knows, and what it does with it. */
export const responseFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...serverFields,
  ...cancelFields,
  ...extensions,
  ...refusedMedia,
  ...refusedExtensions,
  refusedProbs,
  ...refusedHere,
]

/** Fields inside the objects of a request that need a note, by their paths. */
export const nestedResponseFields: readonly Field[] = nestedConstraintFields.filter(({ name }) => !name.startsWith('messages[]'))

/** The fields of `POST /v1/responses/input_tokens`: those that the prompt is made of. */
export const inputTokensFields: readonly Field[] = pick([
  'conversation',
  'input',
  'instructions',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
  'template_vars',
  'enable_thinking',
])

/** The fields of `POST /v1/responses/compact`. */
export const compactFields: readonly Field[] = pick([
  'input',
  'instructions',
  'model',
  'previous_response_id',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
])

/** What a message over a WebSocket has besides the fields of a response. */
export const clientEventFields: readonly Field[] = [
  { name: 'type', treatment: 'used', note: '`response.create`' },
  { name: 'stream_id', treatment: 'used', note: 'the lane: one response at a time in each; its events repeat it' },
  {
    name: 'generate',
    treatment: 'used',
    note: '`false`: the request is only prepared, to be continued with `previous_response_id`',
  },
  { name: 'stream', treatment: 'informational', note: 'a socket always streams' },
  { name: 'background', treatment: 'refused', accepts: [false], note: 'send it over HTTP' },
]

function pick(names: readonly string[]): readonly Field[] {
  return responseFields.filter(({ name }) => names.includes(name))
}

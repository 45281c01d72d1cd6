import {
  constraintFields,
  minimumField,
  refusedExtensions,
  samplingExtensions,
  sharedOpenaiFields,
} from '../openai/common-fields.ts'
import type { Field } from '../wire/field-table.ts'

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  {
    name: 'messages',
    treatment: 'used',
    note: 'all roles, also the deprecated `function`; file parts and custom tool calls are refused',
  },
  sharedOpenaiFields.model,
  { name: 'audio', treatment: 'refused', note: 'no speech output' },
  sharedOpenaiFields.frequencyPenalty,
  { name: 'function_call', treatment: 'used', note: 'deprecated; with `functions` only, `none` apart' },
  { name: 'functions', treatment: 'used', note: 'deprecated: at most one call, answered as `function_call`' },
  sharedOpenaiFields.logitBias,
  { name: 'logprobs', treatment: 'used', note: 'true, or how many likeliest tokens (above 1), as tabbyAPI has it' },
  {
    name: 'max_completion_tokens',
    aliases: ['max_tokens', 'max_length'],
    treatment: 'used',
    note: 'at least 1; absent: until the model stops or the context is full',
  },
  { name: 'metadata', treatment: 'informational', note: 'belongs to stored completions, and none are stored' },
  { name: 'modalities', treatment: 'refused', accepts: [['text']], note: 'output is text' },
  { name: 'moderation', treatment: 'refused', note: 'no moderation model' },
  sharedOpenaiFields.n,
  { name: 'parallel_tool_calls', treatment: 'used', note: 'false: at most one call in a reply' },
  { name: 'prediction', treatment: 'refused', note: 'no predicted outputs' },
  sharedOpenaiFields.presencePenalty,
  { name: 'prompt_cache_key', treatment: 'informational', note: 'equal prefixes are reused without it' },
  { name: 'prompt_cache_options', treatment: 'informational', note: 'equal prefixes are reused without it' },
  { name: 'prompt_cache_retention', treatment: 'informational', note: 'equal prefixes are reused without it' },
  {
    name: 'reasoning_effort',
    treatment: 'used',
    note: 'any word; the chat template is told it; `none` switches thinking off. Wins over `reasoning` and `thinking`',
  },
  { name: 'safety_identifier', treatment: 'informational', note: "names the caller's end user" },
  sharedOpenaiFields.seed,
  { name: 'service_tier', treatment: 'informational', note: 'there is one tier' },
  sharedOpenaiFields.stop,
  { name: 'store', treatment: 'refused', accepts: [false], note: 'completions are not stored' },
  sharedOpenaiFields.stream,
  sharedOpenaiFields.streamOptions,
  sharedOpenaiFields.temperature,
  {
    name: 'tool_choice',
    treatment: 'used',
    note: '`none`, `auto`, `required`, a named function or `allowed_tools`; with `tools` only, `none` apart',
  },
  {
    name: 'tools',
    treatment: 'used',
    note: 'functions; calls to `strict` ones satisfy their schema, or are an error; an empty list is none, `custom` tools are refused',
  },
  { name: 'top_logprobs', treatment: 'used', note: '0 to 20; needs `logprobs`' },
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
  { name: 'verbosity', treatment: 'used', note: 'the chat template is told it' },
  { name: 'web_search_options', treatment: 'refused', note: 'no web search' },
]

/** Fields of other servers that only chats have, and that Dragoman honours. */
const chatExtensions: readonly Field[] = [
  { name: 'add_generation_prompt', treatment: 'used', note: 'false: the model goes on where the template ended' },
  {
    name: 'continue_final_message',
    treatment: 'used',
    note: 'the last message is the beginning of the answer; so is one with `prefix` or `partial`',
  },
  { name: 'enable_thinking', treatment: 'used', note: 'wins over `reasoning` and `thinking`' },
  { name: 'include_reasoning', treatment: 'used', note: 'false: the reply does not show the reasoning' },
  { name: 'preserve_thinking', treatment: 'used', note: 'whether the model sees the reasoning of earlier turns' },
  { name: 'reasoning', treatment: 'used', note: '`effort`, `enabled`, `max_tokens`; `exclude: true` leaves it out of the reply' },
  {
    name: 'reasoning_budget_tokens',
    aliases: ['reasoning_budget', 'thinking_budget', 'thinking_token_budget'],
    treatment: 'used',
    note: 'thinking is closed after so many tokens; 0 at once; negative: as `reasoning` and `thinking` say',
  },
  { name: 'response_prefix', treatment: 'used', note: 'the answer begins with it; it is not part of the reply' },
  {
    name: 'template_vars',
    aliases: ['chat_template_kwargs'],
    treatment: 'used',
    note: 'variables for the chat template; they win over every other field',
  },
  {
    name: 'thinking',
    treatment: 'used',
    note: 'true, false, or an object with `type` (`enabled`, `disabled`, `adaptive`, `auto`) and `budget_tokens`',
  },
]

/** Fields of other servers that only chats have, and that would change the output. */
const refusedChatExtensions: readonly Field[] = [
  { name: 'add_bos_token', treatment: 'refused', note: 'the chat template decides' },
  { name: 'chat_template', treatment: 'refused', note: "the model's own template is used" },
  { name: 'documents', treatment: 'refused', accepts: [[]], note: 'send `template_vars` with `documents`' },
  { name: 'echo', treatment: 'refused', accepts: [false], note: 'a chat reply holds only what was generated' },
  { name: 'prompt_template', treatment: 'refused', note: "the model's own template is used" },
  { name: 'reasoning_budget_message', treatment: 'refused', accepts: [''], note: 'thinking is closed without a message' },
  { name: 'suffix', treatment: 'refused', accepts: [''], note: 'not available for chats' },
]

/** Every top-level request field of `POST /v1/chat/completions` that Dragoman knows, and what it does with it. */
export const chatFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  minimumField,
  ...chatExtensions,
  ...refusedExtensions,
  ...refusedChatExtensions,
]

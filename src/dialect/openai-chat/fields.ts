import {
  adapterField,
  constraintFields,
  minimumField,
  refusedExtensions,
  refusedProbs,
  samplingExtensions,
  sharedOpenaiFields,
} from '../openai/common-fields.ts'
import { serverFields } from '../openai/server-fields.ts'
import { runningFields } from '../openai/times/running-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

const passedOn = 'passed on to servers of kind `openai` and `dragoman`'

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  {
    name: 'messages',
    treatment: 'used',
    note: 'all roles, also the deprecated `function`; [media](media.md) in all but system messages; the billing line of Claude Code, which gateways pass on, is left out of system messages',
  },
  sharedOpenaiFields.model,
  { name: 'audio', treatment: 'refused', note: 'no speech output' },
  sharedOpenaiFields.frequencyPenalty,
  { name: 'function_call', treatment: 'used', note: 'deprecated; requires `functions`, except `none`' },
  { name: 'functions', treatment: 'used', note: 'deprecated: at most one call, answered as `function_call`' },
  sharedOpenaiFields.logitBias,
  {
    name: 'logprobs',
    treatment: 'used',
    note: 'true, or a number: as in tabbyAPI, above 1 it is also `top_logprobs`; known ids of tokens are `token_id`',
  },
  {
    name: 'max_completion_tokens',
    aliases: ['max_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
    treatment: 'used',
    note: `at least 1; absent, or -1: until the model stops or the context is full; ${givesWay}`,
  },
  { name: 'metadata', treatment: 'used', note: `kept with \`store\`; ${passedOn}` },
  { name: 'modalities', treatment: 'refused', accepts: [['text']], note: 'output is text' },
  { name: 'moderation', treatment: 'refused', note: 'no moderation model' },
  sharedOpenaiFields.n,
  { name: 'parallel_tool_calls', treatment: 'used', note: 'false: at most one call in a reply' },
  { name: 'prediction', treatment: 'refused', note: 'no predicted outputs' },
  sharedOpenaiFields.presencePenalty,
  {
    name: 'prompt_cache_key',
    treatment: 'used',
    note: `${passedOn}; prompts that begin differently go to one replica with the same key; equal prefixes are reused without it`,
  },
  { name: 'prompt_cache_options', treatment: 'informational', note: 'equal prefixes are reused without it' },
  { name: 'prompt_cache_retention', treatment: 'used', note: `${passedOn}; here, equal prefixes are reused without it` },
  {
    name: 'reasoning_effort',
    treatment: 'used',
    note: 'any string; passed to the chat template; `none` switches thinking off, any other on; takes precedence over `reasoning` and `thinking`',
  },
  { name: 'safety_identifier', treatment: 'used', note: `identifies the client's end user; ${passedOn}` },
  sharedOpenaiFields.seed,
  {
    name: 'service_tier',
    treatment: 'used',
    note: `\`flex\` lets other requests go first; ${passedOn}, whose tier the reply does not report`,
  },
  sharedOpenaiFields.stop,
  {
    name: 'store',
    treatment: 'used',
    note: 'default false; true: the completion is kept, with its messages; needs `storage.database`',
  },
  sharedOpenaiFields.stream,
  sharedOpenaiFields.streamOptions,
  sharedOpenaiFields.temperature,
  {
    name: 'tool_choice',
    treatment: 'used',
    note: '`none`, `auto`, `required`, a named function or custom tool, or `allowed_tools`; requires `tools`, except `none`',
  },
  {
    name: 'tools',
    treatment: 'used',
    note: 'functions and `custom` tools; a call that breaks a `strict` schema or a grammar is an error; an empty list counts as absent',
  },
  { name: 'top_logprobs', treatment: 'used', note: '0 to 20; requires `logprobs`' },
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
  { name: 'verbosity', treatment: 'used', note: 'passed to the chat template, or to a server of kind `openai`' },
  { name: 'web_search_options', treatment: 'refused', note: 'use `enable_tools` with `enabled_tools: ["web_search"]`' },
]

/** Fields of other servers for chats only, which Dragoman supports. */
const chatExtensions: readonly Field[] = [
  { name: 'add_generation_prompt', treatment: 'used', note: 'false: the model continues the end of the template' },
  {
    name: 'continue_final_message',
    treatment: 'used',
    note: 'the last message is the start of the answer, as with `prefix` or `partial` in that message',
  },
  { name: 'enable_thinking', treatment: 'used', note: 'takes precedence over `reasoning` and `thinking`' },
  { name: 'include_reasoning', treatment: 'used', note: 'false: the reply does not show the reasoning' },
  { name: 'preserve_thinking', treatment: 'used', note: 'whether the model sees the reasoning of earlier turns' },
  { name: 'reasoning', treatment: 'used', note: '`effort`, `enabled`, `max_tokens`; `exclude: true` leaves it out of the reply' },
  {
    name: 'reasoning_budget_tokens',
    aliases: ['reasoning_budget', 'thinking_budget', 'thinking_token_budget'],
    treatment: 'used',
    note: 'thinking ends after this many tokens; 0: at once; negative: `reasoning` and `thinking` apply',
  },
  { name: 'response_prefix', treatment: 'used', note: 'the answer starts with it; it is not part of the reply' },
  {
    name: 'template_vars',
    aliases: ['chat_template_kwargs'],
    treatment: 'used',
    note: 'variables for the chat template; they take precedence over every other field',
  },
  {
    name: 'thinking',
    treatment: 'used',
    note: 'true, false, or an object with `type` (`enabled`, `disabled`, `adaptive`, `auto`) and `budget_tokens`',
  },
]

/** Fields of other servers for chats only, which would change the output. */
const refusedChatExtensions: readonly Field[] = [
  { name: 'add_bos_token', treatment: 'refused', note: 'the chat template decides' },
  { name: 'chat_template', treatment: 'refused', note: "the model's own template is used" },
  { name: 'documents', treatment: 'refused', accepts: [[]], note: 'send `template_vars` with `documents`' },
  { name: 'echo', treatment: 'refused', accepts: [false], note: 'a chat reply contains generated text only' },
  { name: 'prompt_template', treatment: 'refused', note: "the model's own template is used" },
  { name: 'reasoning_budget_message', treatment: 'refused', accepts: [''], note: 'thinking ends without a message' },
  { name: 'suffix', treatment: 'refused', accepts: [''], note: 'not available for chats' },
]

/** Unsloth's fields for tools that the server runs. Without `enable_tools`, the others have no effect. */
const toolUseFields: readonly Field[] = [
  {
    name: 'enable_tools',
    treatment: 'used',
    note: 'true: the server runs [its tools](tools.md) itself, and the reply is what the model says in the end; not together with `tools`',
  },
  {
    name: 'enabled_tools',
    treatment: 'used',
    note: 'names of tools of the server, or of its MCP servers; absent: all that the key may use',
    ignores: isUnused,
  },
  {
    name: 'auto_heal_tool_calls',
    treatment: 'used',
    note:
      "false: arguments that are not what the schema of a tool of the server says reach it as they are, and calls of the client's tools that " +
      'another server leaves in its text stay text',
    ignores: (value, body) => value === false && isUnused(value, body) && ((Reflect.get(body, 'tools') ?? []) as []).length === 0,
  },
  {
    name: 'max_tool_calls_per_message',
    treatment: 'used',
    note: 'turns of the model that may call tools of the server; default 25, and from 9999 on without a limit',
  },
  {
    name: 'tool_call_timeout',
    treatment: 'used',
    note: 'seconds for each call of a tool of the server; default 300, and from 9999 on only the limit of the tool',
  },
  {
    name: 'permission_mode',
    treatment: 'used',
    note: '`ask`: each call waits for `POST /api/inference/tool-confirm`; `auto` and `off`: only those for which the operator wants it',
    ignores: isUnused,
  },
  { name: 'confirm_tool_calls', treatment: 'used', note: 'true is `permission_mode: ask`', ignores: isUnused },
]

function isUnused(_value: unknown, body: object): boolean {
  return Reflect.get(body, 'enable_tools') !== true
}

/** Unsloth's fields for one image and one sound. */
const mediaFields: readonly Field[] = [
  { name: 'audio_base64', treatment: 'used', note: 'a sound, at the end of the last user message' },
  { name: 'image_base64', treatment: 'used', note: 'an image, at the end of the last user message' },
]

/** Every top-level request field of `POST /v1/chat/completions` that Dragoman knows, and what it does with it. */
export const chatFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...runningFields,
  ...serverFields,
  ...cancelFields,
  ...chatExtensions,
  ...mediaFields,
  ...toolUseFields,
  ...refusedExtensions.filter(({ name }) => !toolUseFields.some((field) => field.name === name)),
  refusedProbs,
  ...refusedChatExtensions,
]

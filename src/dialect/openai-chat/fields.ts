import {
  adapterField,
  constraintFields,
  minimumField,
  passedOn,
  promptCacheFields,
  promptLogprobsField,
  promptTemplateField,
  refusedExtensions,
  samplingExtensions,
  sharedOpenaiFields,
  templateBosField,
} from '../openai/common-fields.ts'
import { chatServerFields, serverFields } from '../openai/server-fields.ts'
import { runningFields } from '../openai/times/running-fields.ts'
import { cancelFields } from '../wire/cancel-keys.ts'
import { type Field, givesWay, refused, used } from '../wire/field-table.ts'

/** OpenAI's own fields, in the order of their reference. */
const openaiFields: readonly Field[] = [
  used(
    'messages',
    'all roles, also the deprecated `function`; [media](media.md) in all but system messages; the billing line of Claude Code, which gateways pass on, is left out of system messages',
  ),
  sharedOpenaiFields.model,
  refused('audio', 'no speech output'),
  sharedOpenaiFields.frequencyPenalty,
  used('function_call', 'deprecated; requires `functions`, except `none`'),
  used('functions', 'deprecated: at most one call, answered as `function_call`'),
  sharedOpenaiFields.logitBias,
  used('logprobs', 'true, or a number: as in tabbyAPI, above 1 it is also `top_logprobs`; known ids of tokens are `token_id`'),
  used(
    'max_completion_tokens',
    `at least 1 (\`n_predict\` 0 is 1, which fills a cache); absent, or -1: until the model stops or the context is full; ${givesWay}`,
    {
      aliases: ['max_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
    },
  ),
  used('metadata', `kept with \`store\`; ${passedOn}`),
  refused('modalities', 'output is text', { accepts: [['text']] }),
  refused('moderation', 'no moderation model'),
  sharedOpenaiFields.n,
  used('parallel_tool_calls', 'false: at most one call in a reply'),
  refused('prediction', 'no predicted outputs', { accepts: [{ type: 'content', content: '' }] }),
  sharedOpenaiFields.presencePenalty,
  ...promptCacheFields,
  used(
    'reasoning_effort',
    'any string; passed to the chat template; `none` switches thinking off, any other on; takes precedence over `reasoning` and `thinking`',
  ),
  used('safety_identifier', `identifies the client's end user; ${passedOn}`),
  sharedOpenaiFields.seed,
  used('service_tier', `\`flex\` lets other requests go first; ${passedOn}, whose tier the reply does not report`),
  sharedOpenaiFields.stop,
  used(
    'store',
    'true: the completion is kept, with its messages; needs `storage.database`; default false, or with `storage.chatCompletions: all` true',
  ),
  sharedOpenaiFields.stream,
  sharedOpenaiFields.streamOptions,
  sharedOpenaiFields.temperature,
  used(
    'tool_choice',
    '`none`, `auto`, `required` (or `any`), a named function or custom tool, or `allowed_tools`; requires `tools`, except `none`',
  ),
  used(
    'tools',
    'functions and `custom` tools; a call that breaks a `strict` schema or a grammar is an error; an empty list counts as absent',
  ),
  used('top_logprobs', '0 to 20; requires `logprobs`'),
  used('n_probs', "llama.cpp's name of `logprobs` with a number, where 0 is none"),
  sharedOpenaiFields.topP,
  sharedOpenaiFields.user,
  used('verbosity', 'passed to the chat template, or to a server of kind `openai`'),
  refused('web_search_options', 'use `enable_tools` with `enabled_tools: ["web_search"]`'),
]

/** Fields of other servers for chats only that Dragoman supports. */
const chatExtensions: readonly Field[] = [
  templateBosField,
  used('add_generation_prompt', 'false: the model continues the end of the template'),
  used('continue_final_message', 'the last message is the start of the answer, as with `prefix` or `partial` in that message'),
  used(
    'continue_assistant_turn',
    "KoboldCpp's: true continues the last message if it is the assistant's, as `continue_final_message` does; else nothing",
  ),
  used('enable_thinking', 'takes precedence over `reasoning` and `thinking`'),
  used('include_reasoning', 'false: the reply does not show the reasoning'),
  used('preserve_thinking', 'whether the model sees the reasoning of earlier turns'),
  promptTemplateField,
  used('reasoning', '`effort`, `enabled`, `max_tokens`; `exclude: true` leaves it out of the reply'),
  used(
    'reasoning_budget_tokens',
    'thinking ends after this many tokens; 0: immediately; negative: `reasoning` and `thinking` apply',
    { aliases: ['reasoning_budget', 'thinking_budget', 'thinking_token_budget', 'thinking_budget_tokens'] },
  ),
  sharedOpenaiFields.reasoningBudgetMessage,
  used('response_prefix', 'the answer starts with it; it is not part of the reply'),
  used('template_vars', 'variables for the chat template; they take precedence over every other field', {
    aliases: ['chat_template_kwargs'],
  }),
  used('thinking', 'true, false, or an object with `type` (`enabled`, `disabled`, `adaptive`, `auto`) and `budget_tokens`'),
]

/** Fields of other servers for chats only that would change the output. */
const refusedChatExtensions: readonly Field[] = [
  refused('chat_template', 'name a template of the server: `prompt_template`'),
  refused('documents', 'send `template_vars` with `documents`', { accepts: [[]] }),
  refused('echo', 'a chat reply contains generated text only', { accepts: [false] }),
  refused('suffix', 'not available for chats', { accepts: [''] }),
]

/** Unsloth's fields for server tools. Without `enable_tools`, the others have no effect. */
const toolUseFields: readonly Field[] = [
  used(
    'enable_tools',
    'true: the server runs [its tools](tools.md) itself, and the reply is what the model says in the end; not together with `tools`',
  ),
  used('enabled_tools', 'names of tools of the server, or of its MCP servers; absent: all that the key may use', {
    ignores: isUnused,
  }),
  used(
    'mcp_servers',
    "with `enable_tools`: servers whose tools run here, as in Anthropic's Messages (`name`, `url`, `authorization_token`, `tool_configuration`), where the operator allows their hosts",
    { ignores: isUnused },
  ),
  used(
    'auto_heal_tool_calls',
    "false: arguments that are not what the schema of a tool of the server says reach it as they are, and calls of the client's tools that " +
      'another server leaves in its text stay text',
    {
      ignores: (value, body) =>
        value === false && isUnused(value, body) && ((Reflect.get(body, 'tools') ?? []) as []).length === 0,
    },
  ),
  used(
    'max_tool_calls_per_message',
    'turns of the model that may call tools of the server; default 25, and from 9999 on without a limit',
  ),
  used(
    'tool_call_timeout',
    'seconds for each call of a tool of the server; default 300, and from 9999 on only the limit of the tool',
  ),
  used(
    'permission_mode',
    '`ask`: each call waits for `POST /api/inference/tool-confirm`; `auto`, `off`, `full`: only those for which the operator wants it; `full` ' +
      'is named as ignored, since programs stay in their sandbox',
    { ignores: (value, body) => value === 'full' || isUnused(value, body) },
  ),
  used('confirm_tool_calls', 'true is `permission_mode: ask`', { ignores: isUnused }),
]

function isUnused(_value: unknown, body: object): boolean {
  return Reflect.get(body, 'enable_tools') !== true
}

/** Unsloth's fields for one image and one sound. */
const mediaFields: readonly Field[] = [
  used('audio_base64', 'a sound, at the end of the last user message'),
  used('image_base64', 'an image, at the end of the last user message'),
]

/** Every top-level request field of `POST /v1/chat/completions` that Dragoman knows, and how it is treated. */
export const chatFields: readonly Field[] = [
  ...openaiFields,
  ...constraintFields,
  ...samplingExtensions,
  adapterField,
  minimumField,
  ...runningFields,
  ...serverFields,
  ...chatServerFields,
  ...cancelFields,
  ...chatExtensions,
  ...mediaFields,
  ...toolUseFields,
  promptLogprobsField,
  ...refusedExtensions.filter(({ name }) => !toolUseFields.some((field) => field.name === name)),
  ...refusedChatExtensions,
]

import { z } from 'zod'
import { commonShape } from '../openai/common-schema.ts'
import { chatServerShape } from '../openai/server-fields.ts'
import { runningShape } from '../openai/times/running-fields.ts'
import { dictionary, jsonObject, list, looseObject, openObject } from '../wire/first-fault.ts'
import { mcpServers } from '../wire/server-tools/mcp-servers.ts'
import { flag, integerBetween, integerFrom, nonEmptyText, text, unlimitedOr } from '../wire/wire-types.ts'
import { wireMessage } from './message-schema.ts'
import { tool, toolChoice, toolFunction, toolFunctionChoice } from './tool-schema.ts'

const maxTopLogprobs = 20
const maxTools = 2048
const tooManyTools = { count: maxTools, error: `at most ${maxTools} functions` }
const maxMetadata = 256
const budget = z.int({ error: 'an integer' }).nullish()
const templateVariables = jsonObject.nullish()

/** OpenRouter's object, which several servers accept. */
const reasoningObject = looseObject({
  effort: nonEmptyText.nullish(),
  enabled: flag,
  max_tokens: integerFrom(0),
  exclude: flag,
})
/** Anthropic's object. */
const thinkingObject = looseObject({
  type: z.enum(['enabled', 'disabled', 'adaptive', 'auto']).nullish(),
  budget_tokens: integerFrom(0),
})

/** Tools that the server runs. */
const toolUseShape = {
  enable_tools: flag,
  enabled_tools: list(nonEmptyText, { error: 'an array of names of tools' }).nullish(),
  mcp_servers: mcpServers.nullish(),
  auto_heal_tool_calls: flag,
  max_tool_calls_per_message: integerFrom(0),
  tool_call_timeout: integerFrom(1),
  permission_mode: z.enum(['ask', 'auto', 'off', 'full']).nullish(),
  confirm_tool_calls: flag,
}

/** The body of a chat completion request. Refused fields are missing: the field table refuses them with any type. */
export const chatRequestSchema = looseObject({
  ...commonShape,
  ...chatServerShape,
  ...runningShape,
  messages: list(wireMessage, { error: 'an array of messages' }).min(1, { error: 'at least one message' }),
  image_base64: text,
  audio_base64: text,

  tools: list(tool, { error: 'an array of tools', max: tooManyTools }).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: flag,
  ...toolUseShape,
  functions: list(toolFunction, { error: 'an array of functions', max: tooManyTools }).nullish(),
  function_call: toolFunctionChoice.nullish(),

  // tabbyAPI sends a number: above 0 it switches them on.
  logprobs: z.union([z.boolean(), integerBetween(0, maxTopLogprobs)]).nullish(),
  top_logprobs: integerBetween(0, maxTopLogprobs).nullish(),
  prompt_logprobs: integerBetween(0, maxTopLogprobs).nullish(),
  n_predict: unlimitedOr(0),
  n_probs: integerBetween(0, maxTopLogprobs).nullish(),

  reasoning_effort: nonEmptyText.nullish(),
  enable_thinking: flag,
  preserve_thinking: flag,
  include_reasoning: flag,
  reasoning: reasoningObject.nullish(),
  thinking: z.union([z.boolean(), thinkingObject]).nullish(),
  reasoning_budget_tokens: budget,
  reasoning_budget: budget,
  thinking_budget: budget,
  thinking_token_budget: budget,
  thinking_budget_tokens: budget,
  reasoning_budget_message: text,
  thinking_budget_message: text,

  prompt_template: text,
  template_vars: templateVariables,
  chat_template_kwargs: templateVariables,
  verbosity: nonEmptyText.nullish(),
  add_bos_token: flag,
  add_generation_prompt: flag,
  continue_assistant_turn: flag,
  continue_final_message: flag,
  response_prefix: text,

  metadata: dictionary(z.string(), z.string(), {
    max: { count: maxMetadata, error: `at most ${maxMetadata} entries` },
  }).nullish(),
  prompt_cache_key: text,
  prompt_cache_options: openObject({}).nullish(),
  prompt_cache_retention: text,
  safety_identifier: text,
  store: flag,
  service_tier: text,
})

/** A request body with valid types and ranges; decoding finds contradictions. */
export type ChatWire = z.output<typeof chatRequestSchema>

import { testFieldTable } from '../../../test/support/field-table-suite.ts'
import { openaiCompanions, openaiSamples } from '../../../test/support/upstream/openai-samples.ts'
import { readWireSchema } from '../../../test/support/wire-schema.ts'
import { createOpenaiChat } from './dialect.ts'
import { chatFields } from './fields.ts'
import { chatRequestSchema } from './schema.ts'

const openaiChat = createOpenaiChat({ reasoningFields: 'both', systemFingerprint: 'dragoman-1' })

const samples: Readonly<Record<string, unknown>> = {
  ...openaiSamples,
  timings_per_token: true,
  return_progress: true,
  messages: [{ role: 'user', content: 'another question' }],
  model: 'another',
  audio: { voice: 'alloy', format: 'wav' },
  function_call: { name: 'f' },
  functions: [{ name: 'g' }],
  logprobs: true,
  max_completion_tokens: 7,
  metadata: { trace: 'a' },
  modalities: ['text', 'audio'],
  moderation: { model: 'omni' },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'a' },
  prompt_cache_key: 'a',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  safety_identifier: 'a',
  service_tier: 'flex',
  store: true,
  stream_options: { include_usage: true },
  tool_choice: 'required',
  tools: [{ type: 'function', function: { name: 'g' } }],
  top_logprobs: 2,
  verbosity: 'high',
  web_search_options: {},
  add_bos_token: false,
  add_generation_prompt: false,
  chat_template: '{{ messages }}',
  continue_assistant_turn: true,
  continue_final_message: true,
  documents: [{ text: 'a' }],
  enable_thinking: false,
  include_reasoning: false,
  preserve_thinking: true,
  prompt_template: 'a',
  reasoning: { effort: 'low' },
  reasoning_budget_tokens: 0,
  reasoning_budget_message: 'enough',
  response_prefix: 'Sure',
  template_vars: { a: 1 },
  thinking: { type: 'enabled' },
  mcp_servers: [{ name: 'a', url: 'https://a.example/mcp' }],
  permission_mode: 'ask',
  confirm_tool_calls: true,
}

const companions: Readonly<Record<string, object>> = {
  ...openaiCompanions,
  return_progress: { stream: true },
  stream_options: { stream: true },
  tool_choice: { tools: [{ type: 'function', function: { name: 'f' } }] },
  function_call: { functions: [{ name: 'f' }] },
  top_logprobs: { logprobs: true },
  continue_assistant_turn: { messages: [{ role: 'assistant', content: 'Sure' }] },
  continue_final_message: { messages: [{ role: 'assistant', content: 'Sure' }] },
  enabled_tools: { enable_tools: true },
  mcp_servers: { enable_tools: true },
  auto_heal_tool_calls: { enable_tools: true },
  max_tool_calls_per_message: { enable_tools: true },
  tool_call_timeout: { enable_tools: true },
  permission_mode: { enable_tools: true },
  confirm_tool_calls: { enable_tools: true },
  reasoning_budget_message: { reasoning_budget_tokens: 9 },
}

const { definitions } = readWireSchema('OpenAIChatCompletionCreateParams')
const requestTypes = ['ChatCompletionCreateParamsStreaming', 'ChatCompletionCreateParamsNonStreaming']

testFieldTable({
  dialect: openaiChat,
  fields: chatFields,
  base: { model: 'm', messages: [{ role: 'user', content: 'question' }] },
  properties: [...new Set(requestTypes.flatMap((type) => Object.keys(definitions?.[type]?.properties ?? {})))],
  schemaKeys: Object.keys(chatRequestSchema.shape),
  samples,
  companions,
  required: ['model', 'messages'],
})

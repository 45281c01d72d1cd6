import { expect, test } from 'vitest'
import { decodeChat } from '../../src/dialect/openai-chat/decode.ts'
import { profiles } from '../../src/engine/remote/servers/profiles.ts'
import { requestBody } from '../../src/engine/remote/wire/body/request-body.ts'
import { compileOutput } from '../../src/grammar/compile-output.ts'

const parameters = { type: 'object', properties: { a: { type: 'string' } } }
const toolOf = (name: string) => ({ type: 'function', function: { name, description: 'Does it.', parameters, strict: true } })
const [tools, two] = [[toolOf('f')], [toolOf('f'), toolOf('g')]]
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const formatOf = (more: object) => ({ type: 'json_schema', json_schema: { name: 'n', description: 'It.', schema, ...more } })
const allowed = { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] }
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }

/** Fields of a chat completion, each with a value that changes something. */
const bodies: readonly Readonly<Record<string, unknown>>[] = [
  ...[{ temperature: 0.3 }, { top_p: 0.5 }, { top_k: 7 }, { top_k: 0 }, { min_p: 0.1 }, { typical_p: 0.4 }, { top_n_sigma: 1.5 }],
  ...[{ top_a: 0.2 }, { tfs: 0.9 }, { skew: 0.1 }, { seed: 5 }, { frequency_penalty: 0.5 }, { presence_penalty: 0.5 }],
  ...[
    { repetition_penalty: 1.1, penalty_range: 100, repetition_decay: 5 },
    { repeat_last_n: -1, repeat_penalty: 1.1 },
  ],
  { dry_multiplier: 0.8, dry_base: 1.5, dry_allowed_length: 3, dry_range: 100, dry_sequence_breakers: ['\n', '*'] },
  ...[
    { xtc_probability: 0.5, xtc_threshold: 0.1 },
    { mirostat_mode: 2, mirostat_tau: 4, mirostat_eta: 0.2 },
  ],
  ...[
    { dynatemp_range: 0.5, dynatemp_exponent: 1.2 },
    { smoothing_factor: 0.2, smoothing_curve: 1.5 },
  ],
  ...[{ temperature_last: true }, { temperature_last: false }, { samplers: ['top_k', 'temperature'] }, { samplers: 'kt' }],
  ...[{ logit_bias: { 5: -100, 7: 3 } }, { banned_tokens: [4, 5] }, { allowed_token_ids: [1, 2] }, { banned_strings: ['bad'] }],
  ...[{ stop: ['a', 'b'] }, { stop_token_ids: [9] }, { token_healing: true }, { guidance_scale: 1.4, negative_prompt: 'no' }],
  ...[{ n: 2 }, { max_tokens: 5 }, { min_tokens: 3 }, { ignore_eos: true }, { loop_detect_window: 20 }],
  ...[
    { logprobs: true },
    { logprobs: true, top_logprobs: 4 },
    { use_adapter: 'a' },
    { use_adapter: false },
    { use_adapter: true },
  ],
  ...[{ response_format: { type: 'json_object' } }, { response_format: formatOf({ strict: true }) }],
  ...[{ response_format: formatOf({}) }, { grammar: 'root ::= "a"' }, { regex_pattern: '[a-z]+' }, { guided_choice: ['a', 'b'] }],
  ...[{ tools }, { tools, tool_choice: 'required' }, { tools, parallel_tool_calls: false }, { tools: two, tool_choice: 'auto' }],
  ...[{ tools: two, tool_choice: { type: 'function', function: { name: 'f' } } }],
  { tools: two, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } },
  ...[{ reasoning_effort: 'low' }, { reasoning_effort: 'none' }, { enable_thinking: false }, { enable_thinking: true }],
  ...[{ thinking: { type: 'enabled', budget_tokens: 100 } }, { reasoning_budget: 10, reasoning_budget_message: 'Stop.' }],
  ...[{ preserve_thinking: true }, { chat_template_kwargs: { a: 1, enable_thinking: false } }, { verbosity: 'low' }],
  {
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a' },
    ],
    continue_final_message: true,
    add_generation_prompt: false,
  },
  ...[
    { add_generation_prompt: false },
    { user: 'u' },
    { metadata: { a: 'b' } },
    { service_tier: 'flex' },
    { safety_identifier: 's' },
  ],
  ...[{ prompt_cache_key: 'k' }, { prompt_cache_retention: '24h' }],
  {
    messages: [
      { role: 'developer', content: 'd' },
      { role: 'user', name: 'Bob', content: [{ type: 'text', text: 'q' }] },
    ],
  },
  {
    tools,
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'I look.', reasoning_content: 'Hm.', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'r' },
    ],
  },
]

test.each(bodies.map((body) => [JSON.stringify(body), body] as const))(
  'another Dragoman reads the same: %s',
  async (_, fields) => {
    const { request } = decodeChat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }, 'x')
    const grammars = { compile: async (wanted: Parameters<typeof compileOutput>[0]) => compileOutput(wanted) }
    const { body } = await requestBody(request, { profile: profiles.dragoman, model: 'm' }, grammars)
    const again = decodeChat(body, 'x')
    expect(again.ignored).toEqual([])
    expect(again.request).toEqual(request)
  },
)

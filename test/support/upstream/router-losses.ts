import { expect } from 'vitest'
import type { RunningRouter } from '../process/routers.ts'
import type { RecordingEngine } from './recording-engine.ts'

/** What Dragoman may send to an engine, in the words of its kinds, and a field that nobody knows. */
const sentFields = {
  add_generation_prompt: true,
  cache_prompt: true,
  cache_salt: 's',
  chat_template_kwargs: { a: 1 },
  dry_multiplier: 0.5,
  frequency_penalty: 0.5,
  logit_bias: { 1: 1 },
  lora: [{ id: 0, scale: 1 }],
  metadata: { a: 'b' },
  min_p: 0.1,
  min_tokens: 1,
  parallel_tool_calls: false,
  priority: 1,
  prompt_cache_key: 'k',
  reasoning_effort: 'low',
  repeat_penalty: 1.1,
  repetition_penalty: 1.1,
  return_progress: true,
  seed: 1,
  session_id: 's',
  stop_token_ids: [1],
  store: false,
  timings_per_token: true,
  top_k: 5,
  user: 'u',
  xtc_probability: 0.1,
  unknown_to_all: 1,
}

/** Of these, one at a time: routers refuse several. */
const sentConstraints = {
  ebnf: 'root ::= "a"',
  grammar: 'root ::= "a"',
  guided_regex: 'a',
  regex: 'a',
  response_format: { type: 'json_object' },
  structured_outputs: { regex: 'a' },
}

const sentHeaders = {
  authorization: 'Bearer k',
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  tracestate: 'a=1',
  'x-gateway-inference-fairness-id': 'a',
  'x-gateway-inference-objective': 'a',
  'x-llm-d-inference-fairness-id': 'a',
  'x-llm-d-inference-objective': 'a',
  'x-request-id': 'a',
  'x-session-id': 'a',
  'x-smg-routing-key': 'a',
}

/** The columns of `lossesOf`. */
export const lossColumns = ['fields that do not arrive', 'headers that do not arrive', '`/tokenize`', '`/v1/messages`'] as const

/** What a router drops of a streamed request that has all of it, and which routes it has. */
export async function lossesOf({ url }: RunningRouter, engines: readonly RecordingEngine[]): Promise<readonly string[]> {
  const arrivedAt = (path: string) => engines.flatMap(({ arrived }) => arrived).find((call) => call.path === path)
  const send = async (path: string, body: object, headers = {}) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'tiny', ...body }),
    })
    return response.text()
  }
  const messages = [{ role: 'user', content: 'hello' }]
  const tools = [{ type: 'function', function: { name: 'f', parameters: {}, strict: true } }]
  const stream_options = { include_usage: true, continuous_usage_stats: true }
  const chat = async (fields: object) => {
    for (const { arrived } of engines) arrived.splice(0)
    const said = await send('/v1/chat/completions', { messages, tools, stream: true, stream_options, ...fields }, sentHeaders)
    return arrivedAt('/v1/chat/completions') ?? expect.unreachable(said)
  }
  const { body, headers } = await chat(sentFields)
  const lostFields = Object.keys(sentFields).filter((field) => body[field] === undefined)
  for (const [field, value] of Object.entries(sentConstraints)) {
    if ((await chat({ [field]: value })).body[field] === undefined) lostFields.push(field)
  }
  lostFields.sort()
  const sent = JSON.stringify(body)
  if (!sent.includes('"continuous_usage_stats":true')) lostFields.push('stream_options.continuous_usage_stats')
  if (!sent.includes('"strict":true')) lostFields.push('tools[].function.strict')
  const lostHeaders = Object.keys(sentHeaders).filter((header) => headers[header] === undefined)
  await send('/tokenize', { prompt: 'a', content: 'a' })
  await send('/v1/messages', { messages, max_tokens: 5 })
  const hasRoute = (path: string) => (arrivedAt(path) === undefined ? 'no' : 'yes')
  return [listed(lostFields), listed(lostHeaders), hasRoute('/tokenize'), hasRoute('/v1/messages')]
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map((name) => `\`${name}\``).join(', ')
}

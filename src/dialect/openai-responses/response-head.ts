import { given } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { limitOf } from './decode-options.ts'
import type { References } from './decode-references.ts'
import type { WireResponse } from './replies.ts'
import type { ResponseWire } from './schema.ts'
import { isKnownTool, type MemberTool, type WireTool } from './tool-schema.ts'

/** The fields that the generation decides, when it begins. */
export const begun = {
  status: 'in_progress',
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
} as const satisfies Partial<WireResponse>

type HeadOptions = { readonly id: string; readonly createdAtMs: number; readonly references: References }

/** The fields of a request that its response repeats. Those that OpenAI's types require have OpenAI's default where the request has none. */
export function encodeHead(wire: ResponseWire, { id, createdAtMs, references }: HeadOptions): WireResponse {
  const { background, conversationId, previousResponseId, store } = references
  return {
    id,
    object: 'response',
    created_at: Math.floor(createdAtMs / 1000),
    background,
    conversation: conversationId === undefined ? null : { id: conversationId },
    instructions: wire.instructions ?? null,
    max_output_tokens: limitOf(wire) ?? null,
    max_tool_calls: wire.max_tool_calls ?? null,
    metadata: wire.metadata ?? {},
    model: wire.model,
    parallel_tool_calls: wire.parallel_tool_calls ?? true,
    previous_response_id: previousResponseId ?? null,
    prompt_cache_key: wire.prompt_cache_key ?? null,
    reasoning: { effort: wire.reasoning?.effort ?? null, summary: summaryOf(wire) ?? null },
    safety_identifier: wire.safety_identifier ?? null,
    // There is one tier here.
    service_tier: 'default',
    store,
    temperature: pickSpelling(wire, ['temperature', 'temp']) ?? 1,
    text: encodeText(wire),
    tool_choice: wire.tool_choice ?? 'auto',
    tools: (wire.tools ?? []).map(encodeTool),
    top_logprobs: wire.top_logprobs ?? 0,
    top_p: wire.top_p ?? 1,
    presence_penalty: wire.presence_penalty ?? 0,
    frequency_penalty: wire.frequency_penalty ?? 0,
    truncation: wire.truncation ?? 'disabled',
    // So that an encoder adds no fields to the head: see `test/v8-habits/hidden-classes.test.ts`.
    ...begun,
    ...(typeof wire.user === 'string' && { user: wire.user }),
  }
}

/** The head with the sampling that is in force: the model's own defaults are often not OpenAI's. */
export function withSampling(
  head: WireResponse,
  { temperature, topP, presencePenalty, frequencyPenalty }: Sampling,
): WireResponse {
  return {
    ...head,
    ...given({ temperature, top_p: topP, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty }),
  }
}

/** The summary of its thoughts that the request asks for. */
export function summaryOf({ reasoning }: ResponseWire): string | undefined {
  return reasoning?.summary ?? reasoning?.generate_summary ?? undefined
}

function encodeText({ text }: ResponseWire): JsonObject {
  const format = text?.format
  const verbosity = text?.verbosity ?? 'medium'
  if (format?.type !== 'json_schema') return { format: { type: format?.type ?? 'text' }, verbosity }
  const { name, description, schema, strict } = format
  const named = { type: 'json_schema', name: name ?? '', ...(typeof description === 'string' && { description }) }
  return { format: { ...named, schema, strict: strict ?? false }, verbosity }
}

function encodeTool(tool: WireTool): JsonObject {
  if (tool.type === 'mcp') return withoutSecrets(tool)
  if (!isKnownTool(tool)) return tool
  if (tool.type !== 'namespace') return encodeMember(tool)
  return { ...tool, description: tool.description ?? '', tools: tool.tools.map(encodeMember) }
}

/** Responses are stored, and other callers of the key read them. */
function withoutSecrets({ authorization: _, ...tool }: JsonObject): JsonObject {
  return { ...tool, ...('headers' in tool && { headers: null }) }
}

function encodeMember(tool: MemberTool): JsonObject {
  if (tool.type === 'custom') return { ...tool, format: tool.format ?? { type: 'text' } }
  const { description, parameters, strict } = tool
  return { ...tool, description: description ?? null, parameters: parameters ?? null, strict: strict ?? false }
}

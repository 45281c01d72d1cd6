import type { Attributes, AttributeValue } from './otlp.ts'

const kinds: Readonly<Record<string, string>> = {
  chat: 'LLM',
  text_completion: 'LLM',
  embeddings: 'EMBEDDING',
  execute_tool: 'TOOL',
}
/** OpenTelemetry's names, and OpenInference's. */
const names = {
  'gen_ai.provider.name': 'llm.system',
  'gen_ai.response.model': 'llm.model_name',
  'gen_ai.usage.input_tokens': 'llm.token_count.prompt',
  'gen_ai.usage.output_tokens': 'llm.token_count.completion',
  'gen_ai.usage.cache_read.input_tokens': 'llm.token_count.prompt_details.cache_read',
  'gen_ai.usage.reasoning.output_tokens': 'llm.token_count.completion_details.reasoning',
  'gen_ai.conversation.id': 'session.id',
  'gen_ai.tool.name': 'tool.name',
  'gen_ai.tool.call.id': 'tool.id',
}
const parameter = /^gen_ai\.request\.(?!model$|stream$|choice)(.+)$/

/**
 * The attributes of a span with OpenInference's names beside OpenTelemetry's: Phoenix and Arize read those. Not for attempts, whose tokens
 * they would count again.
 */
export function withOpenInference(attributes: Attributes): Attributes {
  const { 'gen_ai.operation.name': operation, ...others } = attributes
  const kind = typeof operation === 'string' ? kinds[operation] : undefined
  if (kind === undefined) return attributes
  const also: Record<string, AttributeValue | undefined> = { 'openinference.span.kind': kind }
  for (const [name, other] of Object.entries(names)) also[other] = others[name]
  const { 'llm.token_count.prompt': prompt, 'llm.token_count.completion': completion } = also
  if (typeof prompt === 'number' && typeof completion === 'number') also['llm.token_count.total'] = prompt + completion
  if (kind === 'EMBEDDING') also['embedding.model_name'] = others['gen_ai.response.model']
  const parameters = Object.entries(others).flatMap(([name, value]) => {
    const [, field] = parameter.exec(name) ?? []
    return field === undefined || value === undefined ? [] : [[field, numberOf(value)] as const]
  })
  if (parameters.length > 0) also['llm.invocation_parameters'] = JSON.stringify(Object.fromEntries(parameters))
  return { ...attributes, ...also }
}

function numberOf(value: AttributeValue) {
  return typeof value === 'object' && 'double' in value ? value.double : value
}

import type { CanonicalPath } from '../../contract/field.ts'
import { type GenerationRequest, type OutputConstraint, plainRequest, type ReasoningOptions } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { formatRest } from '../wire/field-names.ts'
import { decodeOptions, nameOption } from './options.ts'
import type { ChatWire, GenerateWire } from './schema.ts'

type Wire = ChatWire | GenerateWire

/** The fields that chats and texts share. */
export function decodeCommon(wire: Wire): Omit<GenerationRequest, 'id' | 'prompt'> {
  return {
    ...plainRequest,
    ...decodeOptions(wire.options),
    model: wire.model,
    reasoning: decodeThink(wire.think),
    output: decodeFormat(wire.format),
    ...(wire.logprobs === true && { logprobs: { top: wire.top_logprobs ?? 0 } }),
  }
}

function decodeThink(think: Wire['think']): ReasoningOptions {
  if (think === undefined || think === null) return {}
  return typeof think === 'boolean' ? { enabled: think } : { enabled: true, effort: think }
}

function decodeFormat(format: Wire['format']): OutputConstraint {
  if (format === undefined || format === null || format === '') return { type: 'text' }
  if (format === 'json') return { type: 'json-object' }
  refuseLargeJson(format, 'format')
  return { type: 'json-schema', schema: format as { readonly [key: string]: unknown }, strict: false }
}

/** Fields beside `options`, by the caller's names. */
const topNames: Readonly<Record<string, string>> = { model: 'model', reasoning: 'think', prompt: 'prompt' }

/** The caller's name for a canonical path outside of a conversation. */
export function nameCommon(wire: Wire, path: CanonicalPath): string {
  const [root = '', ...rest] = path
  if (root === 'output') return `format${formatRest(rest[0] === 'schema' ? rest.slice(1) : rest)}`
  if (root === 'logprobs') return rest[0] === 'top' ? 'top_logprobs' : 'logprobs'
  if (root === 'callerKeys') return formatRest(path).slice(1)
  return topNames[String(root)] ?? nameOption(wire.options, path)
}

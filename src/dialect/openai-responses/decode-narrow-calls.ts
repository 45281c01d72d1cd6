import { isObject } from '../../base/json.ts'
import { type Field, indexFields } from '../wire/field-table.ts'
import { type DecodedResponse, decodeResponse, type ResponseContext } from './decode.ts'
import { compactFields, inputTokensFields } from './fields.ts'
import type { InputTokens } from './replies.ts'

/** A body of `POST /v1/responses/input_tokens`, whose prompt is counted. */
export function decodeInputTokens(body: unknown, context: ResponseContext): DecodedResponse {
  return decodeNarrow(body, context, inputTokensFields)
}

export function encodeInputTokens(inputTokens: number): InputTokens {
  return { object: 'response.input_tokens', input_tokens: inputTokens }
}

/** A body of `POST /v1/responses/compact`, whose conversation is summarised. */
export function decodeCompact(body: unknown, context: ResponseContext): DecodedResponse {
  return decodeNarrow(body, context, compactFields)
}

/** Decodes a body that may have a part of a response's fields; others have no effect. */
function decodeNarrow(body: unknown, context: ResponseContext, fields: readonly Field[]): DecodedResponse {
  if (!isObject(body)) return decodeResponse(body, context)
  const index = indexFields(fields)
  const entries = Object.entries(body)
  const decoded = decodeResponse(Object.fromEntries(entries.filter(([name]) => index.has(name))), context)
  const others = entries.flatMap(([name, value]) => (index.has(name) || value === null ? [] : [name]))
  return { ...decoded, ignored: [...others, ...decoded.ignored] }
}

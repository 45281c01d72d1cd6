import type { JsonObject } from '../../contract/request.ts'
import type { StoredItem } from '../../contract/store.ts'
import { callInput } from '../wire/call-input.ts'
import { createIdFor } from './item-id.ts'
import { isKnownItem, type KnownItem, type WireItem, type WirePart } from './item-schema.ts'
import type { ResponseWire } from './schema.ts'

/** The items of an input in the form that responses list: each with an id, texts as parts. References and triggers are not items. */
export function normalizeInput(input: ResponseWire['input']): readonly (StoredItem | undefined)[] {
  if (input === undefined || input === null) return []
  if (typeof input === 'string') return [withId({ type: 'message', role: 'user', content: input })]
  return input.map((item) => (item.type === 'item_reference' || item.type === 'compaction_trigger' ? undefined : withId(item)))
}

function withId(item: WireItem): StoredItem {
  const type = item.type ?? 'message'
  const id = typeof item.id === 'string' ? item.id : createIdFor(type)
  // It does not begin with the item: see `test/v8-habits/hidden-classes.test.ts`.
  const complete = { type, ...item, ...(isKnownItem(item) && completionOf(item)) }
  return { id, json: Object.assign(complete, { type, id }) }
}

/** Required fields of an item's type in replies, which this item may lack. */
function completionOf(item: KnownItem): JsonObject {
  switch (item.type) {
    case 'message':
    case undefined:
      return { status: item.status ?? 'completed', content: completeContent(item.content, item.role) }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { status: item.status ?? 'completed' }
    case 'function_call':
      return { status: item.status ?? 'completed', arguments: callInput(item.arguments) }
    case 'reasoning':
      return { summary: item.summary ?? [] }
    case 'tool_search_call':
    case 'tool_search_output':
      return { call_id: item.call_id ?? null, execution: item.execution ?? 'client', status: item.status ?? 'completed' }
    case 'additional_tools':
      return { role: item.role ?? 'developer' }
    case 'web_search_call':
    case 'code_interpreter_call':
    case 'mcp_call':
      return { status: item.status ?? 'completed' }
    case 'mcp_list_tools':
    case 'mcp_approval_request':
    case 'mcp_approval_response':
    case 'custom_tool_call':
    case 'compaction':
    case 'item_reference':
    case 'compaction_trigger':
      return {}
  }
}

function completeContent(content: string | readonly WirePart[], role: string): readonly JsonObject[] {
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const parts: readonly WirePart[] = typeof content === 'string' ? [{ type, text: content }] : content
  return parts.map((part) => completePart(part, type))
}

function completePart(part: WirePart, type: 'input_text' | 'output_text'): JsonObject {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return type === 'output_text' ? { annotations: [], ...part, type } : { ...part, type }
    case 'input_image':
      return { ...part, detail: part.detail ?? 'auto' }
    case 'refusal':
    case 'input_file':
    case 'input_audio':
      return part
  }
}

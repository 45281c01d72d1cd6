import { isObject } from '../../../base/json.ts'
import type { JsonObject } from '../../../contract/request.ts'
import type { Emitter, Send } from './output-item.ts'
import { beginningOfServerItem, beginServerItem, endServerItem, isServerItem } from './server-events.ts'

/** Sends the events of a complete item. */
export function replayItem(item: JsonObject, { send, outputIndex }: Emitter): void {
  const place = { item_id: item.id, output_index: outputIndex }
  send('response.output_item.added', { output_index: outputIndex, item: beginningOf(item) })
  switch (item.type) {
    case 'message':
      for (const [index, part] of partsOf(item.content)) replayPart(part, { send, place: { ...place, content_index: index } })
      break
    case 'reasoning':
      for (const [index, part] of partsOf(item.summary)) replaySummary(part, { send, place: { ...place, summary_index: index } })
      for (const [index, part] of partsOf(item.content)) replayPart(part, { send, place: { ...place, content_index: index } })
      break
    case 'function_call': {
      const { name, arguments: input } = item
      if (input !== '') send('response.function_call_arguments.delta', { ...place, delta: input })
      send('response.function_call_arguments.done', { ...place, name, arguments: input })
      break
    }
    case 'custom_tool_call':
      if (item.input !== '') send('response.custom_tool_call_input.delta', { ...place, delta: item.input })
      send('response.custom_tool_call_input.done', { ...place, input: item.input })
      break
  }
  if (isServerItem(item)) {
    for (const [type, fields] of [...beginServerItem(item), ...endServerItem(item)]) send(type, { ...place, ...fields })
  }
  send('response.output_item.done', { output_index: outputIndex, item })
}

/** The item before its first delta. */
function beginningOf(item: JsonObject): JsonObject {
  if (isServerItem(item)) return beginningOfServerItem(item)
  const begun = { ...item, ...('status' in item && { status: 'in_progress' }) }
  switch (item.type) {
    case 'message':
      return { ...begun, content: [] }
    case 'reasoning':
      return { ...begun, summary: [], ...('content' in item && { content: [] }) }
    case 'function_call':
      return { ...begun, arguments: '' }
    case 'custom_tool_call':
      return { ...begun, input: '' }
    default:
      return begun
  }
}

type PartPlace = { readonly send: Send; readonly place: JsonObject }

function replayPart(part: JsonObject, { send, place }: PartPlace): void {
  switch (part.type) {
    case 'output_text': {
      const { text, logprobs } = part
      const annotations = partsOf(part.annotations)
      send('response.content_part.added', { ...place, part: { ...part, text: '', annotations: [], logprobs: [] } })
      if (text !== '') send('response.output_text.delta', { ...place, delta: text, logprobs })
      for (const [index, annotation] of annotations) {
        send('response.output_text.annotation.added', { ...place, annotation, annotation_index: index })
      }
      send('response.output_text.done', { ...place, text, logprobs })
      break
    }
    case 'refusal':
      send('response.content_part.added', { ...place, part: { ...part, refusal: '' } })
      send('response.refusal.delta', { ...place, delta: part.refusal })
      send('response.refusal.done', { ...place, refusal: part.refusal })
      break
    case 'reasoning_text':
      send('response.content_part.added', { ...place, part: { ...part, text: '' } })
      send('response.reasoning_text.delta', { ...place, delta: part.text })
      send('response.reasoning_text.done', { ...place, text: part.text })
      break
  }
  send('response.content_part.done', { ...place, part })
}

function replaySummary(part: JsonObject, { send, place }: PartPlace): void {
  send('response.reasoning_summary_part.added', { ...place, part: { ...part, text: '' } })
  send('response.reasoning_summary_text.delta', { ...place, delta: part.text })
  send('response.reasoning_summary_text.done', { ...place, text: part.text })
  send('response.reasoning_summary_part.done', { ...place, part })
}

function partsOf(value: unknown): readonly (readonly [number, JsonObject])[] {
  return Array.isArray(value) ? [...value.filter(isObject).entries()] : []
}

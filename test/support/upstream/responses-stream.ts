import { type Answer, streamOf } from './upstream.ts'

/** One event of Responses. */
export function responsesEvent(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** An item with its deltas. */
export function itemOf(output_index: number, item: object, deltas: readonly (readonly [string, object])[]): string {
  const pieces = deltas.map(([type, fields]) => responsesEvent(type, { output_index, ...fields }))
  return [
    responsesEvent('response.output_item.added', { output_index, item }),
    ...pieces,
    responsesEvent('response.output_item.done', { output_index, item }),
  ].join('')
}

export function messageItem(output_index: number, ...pieces: readonly string[]): string {
  const deltas = pieces.map((delta) => ['response.output_text.delta', { content_index: 0, delta, logprobs: [] }] as const)
  return itemOf(output_index, { type: 'message', role: 'assistant', content: [] }, deltas)
}

export function callItem(output_index: number, call_id: string, name: string, ...pieces: readonly string[]): string {
  const deltas = pieces.map((delta) => ['response.function_call_arguments.delta', { delta }] as const)
  return itemOf(output_index, { type: 'function_call', call_id, name, arguments: '' }, deltas)
}

const usage = {
  input_tokens: 15,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 24,
}

/** The last event. */
export function responseEnd(status: string, fields: object = {}): string {
  return responsesEvent(`response.${status}`, { response: { object: 'response', status, output: [], usage, ...fields } })
}

/** A complete reply with these items. */
export function responseOf(...items: readonly string[]): Answer {
  return streamOf(responsesEvent('response.created', { response: { status: 'in_progress' } }), ...items, responseEnd('completed'))
}

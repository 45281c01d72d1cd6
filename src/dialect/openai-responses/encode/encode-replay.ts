import { isObject } from '../../../base/json.ts'
import type { JsonObject } from '../../../contract/request.ts'
import { begun } from '../response-head.ts'
import type { ResponseEvent } from './encoder.ts'
import { replayItem } from './replay-item.ts'

/** The event in a stored text. Throws for a text that this server did not store. */
export function readStoredEvent(json: string): ResponseEvent {
  const event: unknown = JSON.parse(json)
  if (!isObject(event)) throw new Error('a stored event is not an object')
  const { type, sequence_number } = event
  if (typeof type !== 'string' || typeof sequence_number !== 'number') throw new Error('a stored event has no type or number')
  return { ...event, type, sequence_number }
}

const ends: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Whether this is the last event. */
export function isEnd({ type }: ResponseEvent): boolean {
  return ends.has(type)
}

/** The last event of a response that has ended. */
export function encodeEnd(response: JsonObject, sequenceNumber: number): ResponseEvent {
  const { status } = response
  const type = status === 'completed' || status === 'failed' ? `response.${status}` : 'response.incomplete'
  return { type, sequence_number: sequenceNumber, response }
}

/** The stream of a response that has ended, as if it was made in one piece: each text is one delta. */
export function replayResponse(response: JsonObject): readonly ResponseEvent[] {
  const events: ResponseEvent[] = []
  const send = (type: string, fields: JsonObject) => void events.push({ type, sequence_number: events.length, ...fields })
  const first = { ...response, ...begun }
  send('response.created', { response: first })
  send('response.in_progress', { response: first })
  const output: readonly unknown[] = Array.isArray(response.output) ? response.output : []
  for (const [outputIndex, item] of output.entries()) if (isObject(item)) replayItem(item, { send, outputIndex })
  events.push(encodeEnd(response, events.length))
  return events
}

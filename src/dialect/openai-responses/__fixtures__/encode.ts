import { plainSealer as sealer } from '../../../../test/support/plain-sealer.ts'
import { checkResponseEvent } from '../../../../test/support/upstream/response-checks.ts'
import type { FinishReason, GenerationEvent } from '../../../contract/event.ts'
import { decodeResponse } from '../decode.ts'
import { createResponseEncoder, type ResponseEvent } from '../encode/encoder.ts'

export const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
export const start: GenerationEvent = { type: 'start', model: 'org/m', warnings: [] }
export const reported: GenerationEvent = { type: 'usage', usage, timings: {} }

export function say(delta: string): GenerationEvent {
  return { type: 'text-delta', choice: 0, delta }
}

export function think(delta: string): GenerationEvent {
  return { type: 'reasoning-delta', choice: 0, delta }
}

export function refuse(delta: string): GenerationEvent {
  return { type: 'refusal-delta', choice: 0, delta }
}

/** A whole call, in one delta. */
export function called(id: string, name: string, input: string, kind?: 'custom'): readonly GenerationEvent[] {
  return [
    { type: 'tool-call-start', choice: 0, id, name, ...(kind !== undefined && { kind }) },
    { type: 'tool-call-delta', choice: 0, id, delta: input },
    { type: 'tool-call-end', choice: 0, id },
  ]
}

export function finished(reason: FinishReason = 'stop'): readonly GenerationEvent[] {
  return [{ type: 'finish', choice: 0, reason }, reported]
}

export function encoderFor(fields: object = {}) {
  const serverTools = new Set(['web_search', 'python', 'docs'])
  const context = { id: 'resp_1', createdAtMs: 1_700_000_000_000, sealer, history: [], items: [], serverTools }
  return createResponseEncoder(decodeResponse({ model: 'm', input: 'hi', ...fields }, context))
}

/** The events of a stream after `start`, each checked against both schemas, with item ids as they would be counted. */
export function stream(events: readonly GenerationEvent[], fields: object = {}): readonly ResponseEvent[] {
  const encoder = encoderFor(fields)
  return checked([start, ...events].flatMap((event) => encoder.encode(event)))
}

/** Checks events against the schemas of OpenAI's SDK and, where it has them, of Open Responses. */
export function checked(events: readonly ResponseEvent[]): readonly ResponseEvent[] {
  for (const [index, event] of events.entries()) {
    checkResponseEvent(JSON.parse(JSON.stringify(event)))
    if (event.sequence_number !== index) throw new Error(`event ${index} has the sequence number ${event.sequence_number}`)
  }
  return countIds(events)
}

/** Random ids become `msg_0`, `fc_1` …, in the order in which they appear. */
export function countIds(events: readonly ResponseEvent[]): readonly ResponseEvent[] {
  const seen: string[] = []
  const text = JSON.stringify(events).replace(
    /\b(msg|rs|fc|ctc|cmp|ws|ci|mcp|mcpl|mcpr)_[0-9a-f]{32}\b/g,
    (id, prefix: string) => {
      if (!seen.includes(id)) seen.push(id)
      return `${prefix}_${seen.indexOf(id)}`
    },
  )
  return JSON.parse(text)
}

/** Events in short: `output_text.delta 0 "Hi"`. The number is the output index. */
export function brief(events: readonly ResponseEvent[]): readonly string[] {
  return events.map(({ type, output_index: index, item, delta, response }) => {
    const name = type.replace('response.', '')
    if (delta !== undefined) return `${name} ${index} ${JSON.stringify(delta)}`
    if (item !== undefined) return `${name} ${index} ${describe(item)}`
    if (response !== undefined) return `${name} ${describe(response)}`
    return `${name} ${index}`
  })
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { type, status }: { type?: unknown; status?: unknown } = value
  return [type, status].filter((word) => word !== undefined).join(' ')
}

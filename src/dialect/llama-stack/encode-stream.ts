import type { StreamEncoder } from '../../contract/dialect.ts'
import type { EventOf, FinishReason, GeneratedToken } from '../../contract/event.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream, nothing, withoutCalls } from '../wire/stream/encode-stream.ts'
import { WholeCalls } from '../wire/stream/whole-calls.ts'
import { encodeCall, encodeLogprobs, encodeMetrics, encodeStopReason } from './encode.ts'
import { encodeStreamError } from './errors.ts'

type ToolCallStatus = 'started' | 'in_progress' | 'succeeded' | 'failed'

/** Encodes events as the chunks of `chat-completion`: `start`, any number of `progress`, `complete`. */
export function createChatEncoder(): StreamEncoder {
  const calls = new WholeCalls()
  let reason: FinishReason = 'stop'

  function endCall({ raw, state }: Partial<EventOf<'tool-call-end'>> = {}): string {
    const call = calls.take()
    if (call === undefined) return ''
    const made = encodeCall(call)
    // Arguments that a limit truncated do not parse either.
    const hasFailed = state === 'unparseable' || typeof made.arguments === 'string'
    return progress(hasFailed ? callDelta(`${call.name}(${raw ?? call.input})`, 'failed') : callDelta(made, 'succeeded'))
  }

  function addText(delta: string, tokens: readonly GeneratedToken[] | undefined): string {
    return delta === '' && tokens === undefined ? '' : endCall() + progress(textDelta(delta), tokens)
  }

  return encodeStream({
    start: () => chunk('start', textDelta('')),
    'text-delta': ({ delta, tokens }) => addText(delta, tokens),
    'refusal-delta': ({ delta, tokens }) => addText(delta, tokens),
    // Its tokens belong to the reply, but its text does not.
    'reasoning-delta': ({ tokens }) => addText('', tokens),
    'tool-call-start': (event) => {
      const ended = endCall()
      calls.begin(event)
      return ended + progress(callDelta('', 'started'), event.tokens)
    },
    'tool-call-delta': (event) => {
      calls.add(event)
      return progress(callDelta(event.delta, 'in_progress'), event.tokens)
    },
    'tool-call-end': endCall,
    finish: (event) => {
      reason = event.reason
      return endCall()
    },
    usage: ({ usage }) => {
      const ended = { fields: { stop_reason: encodeStopReason(reason) }, metrics: encodeMetrics(usage) }
      return chunk('complete', textDelta(''), ended)
    },
    error: ({ error }) => frame(encodeStreamError(error)),
  })
}

/** Encodes events as the chunks of `completion`: deltas, and a last one with the stop reason. */
export function createCompletionEncoder(): StreamEncoder {
  let reason: FinishReason = 'stop'
  return encodeStream({
    ...withoutCalls,
    start: nothing,
    'text-delta': ({ delta, tokens }) => {
      return delta === '' && tokens === undefined ? '' : frame({ delta, ...encodeLogprobs(tokens) })
    },
    'reasoning-delta': nothing,
    'refusal-delta': nothing,
    finish: (event) => {
      reason = event.reason
    },
    usage: ({ usage }) => frame({ delta: '', stop_reason: encodeStopReason(reason), metrics: encodeMetrics(usage) }),
    error: ({ error }) => frame(encodeStreamError(error)),
  })
}

function textDelta(text: string) {
  return { type: 'text', text }
}

function callDelta(call: string | ReturnType<typeof encodeCall>, status: ToolCallStatus) {
  return { type: 'tool_call', tool_call: call, parse_status: status }
}

function progress(delta: object, tokens?: readonly GeneratedToken[]): string {
  return chunk('progress', delta, { fields: encodeLogprobs(tokens) })
}

type ChunkExtras = { readonly fields?: object; readonly metrics?: unknown }

function chunk(type: 'start' | 'progress' | 'complete', delta: object, { fields, metrics }: ChunkExtras = {}): string {
  return frame({ event: { event_type: type, delta, ...fields }, ...(metrics !== undefined && { metrics }) })
}

/** A frame without an event name; the stream ends without `[DONE]`. */
function frame(value: unknown): string {
  return `data: ${toFrameJson(value)}\n\n`
}

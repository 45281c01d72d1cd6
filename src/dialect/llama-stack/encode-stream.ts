import type { StreamEncoder } from '../../contract/dialect.ts'
import type { FinishReason, GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeCall, encodeLogprobs, encodeMetrics, encodeStopReason } from './encode.ts'
import { encodeStreamError } from './errors.ts'

type ToolCallStatus = 'started' | 'in_progress' | 'succeeded' | 'failed'
type OpenCall = { readonly id: string; readonly name: string; input: string }

/** Encodes events as the chunks of `chat-completion`: `start`, any number of `progress`, `complete`. */
export function createChatEncoder(): StreamEncoder {
  let call: OpenCall | undefined
  let reason: FinishReason = 'stop'

  /** A call is complete when it ends, or another block begins. */
  function endCall({ raw, state }: Pick<Extract<GenerationEvent, { type: 'tool-call-end' }>, 'raw' | 'state'> = {}): string {
    if (call === undefined) return ''
    const made = encodeCall(call)
    const { name, input } = call
    call = undefined
    // What a limit truncated does not parse either.
    const hasFailed = state === 'unparseable' || typeof made.arguments === 'string'
    if (hasFailed) return progress(callDelta(`${name}(${raw ?? input})`, 'failed'))
    return progress(callDelta(made, 'succeeded'))
  }

  function encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'start':
        return chunk('start', textDelta(''))
      case 'text-delta':
      case 'refusal-delta':
        if (event.delta === '' && event.tokens === undefined) return ''
        return endCall() + progress(textDelta(event.delta), event.tokens)
      case 'reasoning-delta':
        // Its tokens belong to the reply, unlike its text.
        return event.tokens === undefined ? '' : endCall() + progress(textDelta(''), event.tokens)
      case 'tool-call-start': {
        const ended = endCall()
        call = { id: event.id, name: event.name, input: '' }
        return ended + progress(callDelta('', 'started'), event.tokens)
      }
      case 'tool-call-delta':
        if (call !== undefined) call.input += event.delta
        return progress(callDelta(event.delta, 'in_progress'), event.tokens)
      case 'tool-call-end':
        return endCall(event)
      case 'finish':
        reason = event.reason
        return endCall()
      case 'usage':
        return chunk('complete', textDelta(''), {
          fields: { stop_reason: encodeStopReason(reason) },
          metrics: encodeMetrics(event.usage),
        })
      case 'error':
        return frame(encodeStreamError(event.error))
      case 'prompt-progress':
      case 'prompt-read':
      case 'prompt-tokens':
      case 'annotation':
      case 'mcp-tools':
      case 'approval-request':
      case 'server-tool-start':
      case 'server-tool-end':
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
      case 'refusal-start':
      case 'refusal-end':
        return ''
    }
  }

  return { encode }
}

/** Encodes events as the chunks of `completion`: deltas, and a last one with the stop reason. */
export function createCompletionEncoder(): StreamEncoder {
  let reason: FinishReason = 'stop'

  function encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'text-delta':
        if (event.delta === '' && event.tokens === undefined) return ''
        return frame({ delta: event.delta, ...encodeLogprobs(event.tokens) })
      case 'finish':
        reason = event.reason
        return ''
      case 'usage':
        return frame({ delta: '', stop_reason: encodeStopReason(reason), metrics: encodeMetrics(event.usage) })
      case 'error':
        return frame(encodeStreamError(event.error))
      // A text has neither reasoning nor calls.
      case 'start':
      case 'prompt-progress':
      case 'prompt-read':
      case 'prompt-tokens':
      case 'annotation':
      case 'mcp-tools':
      case 'approval-request':
      case 'server-tool-start':
      case 'server-tool-end':
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
      case 'refusal-start':
      case 'refusal-delta':
      case 'refusal-end':
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
        return ''
    }
  }

  return { encode }
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

/** Without the name of an event, and without a `[DONE]` at the end. */
function frame(value: unknown): string {
  return `data: ${toFrameJson(value)}\n\n`
}

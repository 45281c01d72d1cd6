import type { StreamEncoder } from '../../contract/dialect.ts'
import type { FinishReason, GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import { unreadableCall } from '../wire/call-input.ts'
import { toExactFrameJson } from '../wire/frame-json.ts'
import { type Clock, encodeCall, encodeDoneReason, encodePiece, encodeTotals, type Piece } from './encode.ts'
import { encodeOllamaError } from './errors.ts'
import type { ReplyStyle } from './style.ts'

type OpenCall = { readonly id: string; readonly name: string; input: string; readonly tokens: GeneratedToken[] }

/** Encodes events as lines of JSON; a call is written when it is complete. */
export function createLineEncoder(style: ReplyStyle, clock: Clock): StreamEncoder {
  let call: OpenCall | undefined
  let calls = 0
  let reason: FinishReason = 'stop'

  function piece(given: Piece): string {
    const { text = '', thinking = '', calls: made = [], tokens = [] } = given
    if (style.isEmpty || (text === '' && thinking === '' && made.length === 0 && tokens.length === 0)) return ''
    return line({ ...encodePiece(given, style, clock.wallMs()), done: false })
  }

  /** A call is complete when it ends, or another block begins. */
  function endCall(): string {
    if (call === undefined) return ''
    const { tokens, ...complete } = call
    call = undefined
    return piece({ calls: [encodeCall(complete, calls++)], tokens })
  }

  function encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return endCall() + piece({ text: event.delta, ...withTokens(event) })
      case 'reasoning-delta':
        return endCall() + piece({ [style.form === 'raw' ? 'text' : 'thinking']: event.delta, ...withTokens(event) })
      case 'tool-call-start': {
        const ended = endCall()
        call = { id: event.id, name: event.name, input: '', tokens: [...(event.tokens ?? [])] }
        return ended
      }
      case 'tool-call-delta':
        if (call !== undefined) {
          call.input += event.delta
          for (const token of event.tokens ?? []) call.tokens.push(token)
        }
        return ''
      case 'tool-call-end':
        if (event.state === 'unparseable' && call !== undefined) throw unreadableCall(call.name)
        return endCall()
      case 'finish':
        reason = event.reason
        return endCall()
      case 'usage':
        return line({
          ...encodePiece({}, style, clock.wallMs()),
          done: true,
          done_reason: encodeDoneReason(reason, style),
          ...encodeTotals(event, clock),
        })
      case 'error':
        return line(encodeOllamaError(event.error).body)
      case 'start':
      case 'prompt-read':
      case 'prompt-tokens':
      case 'annotation':
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

function withTokens({ tokens }: { readonly tokens?: readonly GeneratedToken[] }): Pick<Piece, 'tokens'> {
  return tokens === undefined ? {} : { tokens }
}

function line(value: unknown): string {
  return `${toExactFrameJson(value)}\n`
}

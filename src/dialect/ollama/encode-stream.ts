import type { StreamEncoder } from '../../contract/dialect.ts'
import type { FinishReason, GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import { isTruncated } from '../../contract/is-truncated.ts'
import { isReadable, unreadableCall } from '../wire/call-input.ts'
import { toExactFrameJson } from '../wire/json/frame-json.ts'
import { type Clock, encodeCall, encodeDoneReason, encodePiece, encodeTotals, type Piece, styleOf } from './encode.ts'
import { encodeOllamaError } from './errors.ts'
import type { ReplyStyle } from './style.ts'

type OpenCall = { readonly id: string; readonly name: string; input: string; readonly tokens: GeneratedToken[] }

/** Encodes events as lines of JSON; a call is written when it is complete. */
export function createLineEncoder(asked: ReplyStyle, clock: Clock): StreamEncoder {
  let style = asked
  let call: OpenCall | undefined
  let calls = 0
  let reason: FinishReason = 'stop'
  /** The name of a call whose arguments cannot be read as an object: a failure, unless the output ended in it. */
  let broken: string | undefined

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
    const made = isReadable(complete.input) ? encodeCall(complete, calls++) : undefined
    if (made === undefined) broken = complete.name
    return piece({ ...(made !== undefined && { calls: [made] }), tokens })
  }

  function encode(event: GenerationEvent): string {
    if (broken !== undefined && !isOfEnd(event)) throw unreadableCall(broken)
    return encodeNext(event)
  }

  function encodeNext(event: GenerationEvent): string {
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
        return endCall()
      case 'finish': {
        const ended = endCall()
        reason = event.reason
        if (broken !== undefined && !isTruncated(event)) throw unreadableCall(broken)
        return ended
      }
      case 'usage':
        return line({
          ...encodePiece({}, style, clock.wallMs()),
          done: true,
          done_reason: encodeDoneReason(reason, style),
          ...encodeTotals(event),
        })
      case 'error':
        return line(encodeOllamaError(event.error).body)
      case 'start':
        style = styleOf(event, asked)
        return ''
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

/** What may follow a call that the end of the output has cut. */
function isOfEnd({ type }: GenerationEvent): boolean {
  return type === 'finish' || type === 'usage' || type === 'error' || type === 'tool-call-end'
}

function withTokens({ tokens }: { readonly tokens?: readonly GeneratedToken[] }): Pick<Piece, 'tokens'> {
  return tokens === undefined ? {} : { tokens }
}

function line(value: unknown): string {
  return `${toExactFrameJson(value)}\n`
}

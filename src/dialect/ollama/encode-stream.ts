import type { StreamEncoder } from '../../contract/dialect.ts'
import type { EventOf, FinishReason, GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import { isTruncated } from '../../contract/is-truncated.ts'
import { isReadable, unreadableCall } from '../wire/call-input.ts'
import { toExactFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream } from '../wire/stream/encode-stream.ts'
import { WholeCalls } from '../wire/stream/whole-calls.ts'
import { type Clock, encodeCall, encodeDoneReason, encodePiece, encodeTotals, type Piece, styleOf } from './encode.ts'
import { encodeOllamaError } from './errors.ts'
import type { OllamaError, OllamaReply } from './replies.ts'
import type { ReplyStyle } from './style.ts'

/** Encodes events as lines of JSON; a call is written when it is complete. */
export function createLineEncoder(asked: ReplyStyle, clock: Clock): StreamEncoder {
  let style = asked
  const calls = new WholeCalls()
  let nextIndex = 0
  let reason: FinishReason = 'stop'
  /** The name of a call whose arguments are not an object: a failure, unless the output ended inside it. */
  let broken: string | undefined

  function piece(given: Piece): string {
    const { text = '', thinking = '', calls: made = [], tokens = [] } = given
    if (style.isEmpty || (text === '' && thinking === '' && made.length === 0 && tokens.length === 0)) return ''
    return line({ ...encodePiece(given, style, clock.wallMs()), done: false })
  }

  function addText(event: EventOf<'text-delta'>): string {
    return endCall() + piece({ text: event.delta, ...withTokens(event) })
  }

  function endCall(): string {
    const call = calls.take()
    if (call === undefined) return ''
    const { tokens } = call
    if (isReadable(call.input)) return piece({ calls: [encodeCall(call, nextIndex++)], tokens })
    broken = call.name
    return piece({ tokens })
  }

  const encoder = encodeStream({
    start: (event) => {
      style = styleOf(event, asked)
    },
    'text-delta': addText,
    'refusal-delta': addText,
    'reasoning-delta': (event) => {
      return endCall() + piece({ [style.form === 'raw' ? 'text' : 'thinking']: event.delta, ...withTokens(event) })
    },
    'tool-call-start': (event) => {
      const ended = endCall()
      calls.begin(event)
      return ended
    },
    'tool-call-delta': (event) => {
      calls.add(event)
    },
    'tool-call-end': endCall,
    finish: (event) => {
      const ended = endCall()
      reason = event.reason
      if (broken !== undefined && !isTruncated(event)) throw unreadableCall(broken)
      return ended
    },
    usage: (event) => {
      const head = encodePiece({}, style, clock.wallMs())
      return line({ ...head, done: true, done_reason: encodeDoneReason(reason, style), ...encodeTotals(event) })
    },
    error: ({ error }) => line(encodeOllamaError(error).body),
  })

  return {
    encode: (event) => {
      if (broken !== undefined && !isOfEnd(event)) throw unreadableCall(broken)
      return encoder.encode(event)
    },
  }
}

/** Events that may follow a call that the end of the output truncated. */
function isOfEnd({ type }: GenerationEvent): boolean {
  return type === 'finish' || type === 'usage' || type === 'error' || type === 'tool-call-end'
}

function withTokens({ tokens }: { readonly tokens?: readonly GeneratedToken[] }): Pick<Piece, 'tokens'> {
  return tokens === undefined ? {} : { tokens }
}

function line(value: OllamaReply | OllamaError): string {
  return `${toExactFrameJson(value)}\n`
}

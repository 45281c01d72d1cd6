import type { StreamEncoder } from '../../contract/dialect.ts'
import type { EventOf, ServerToolCall, StartEvent } from '../../contract/event.ts'
import { unreadableCall } from '../wire/call-input.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream } from '../wire/stream/encode-stream.ts'
import { encodeCall, encodeCitation, encodeHead, encodeStop, encodeUsage, type ReplyStyle, sign } from './encode.ts'
import { encodeOutcome, encodeServerCall, ServerToolCount } from './encode-server-tools.ts'
import { encodeAnthropicError } from './errors.ts'

/**
 * Encodes events as Anthropic's. `message_start` waits until the engine has read the prompt, because it says how much of it came from a
 * cache.
 */
export function createMessageEncoder(style: ReplyStyle & { readonly requestId?: string }): StreamEncoder {
  const blocks = new Blocks(style)
  const count = new ServerToolCount()
  let finish: EventOf<'finish'> | undefined
  /** The tool of the last call. */
  let called = ''
  let running: ServerToolCall | undefined
  const close = () => blocks.close()
  const addText = ({ delta }: EventOf<'text-delta'>) => blocks.addText(delta)

  return encodeStream({
    start: (event) => {
      blocks.start = event
    },
    'prompt-read': ({ inputTokens, cachedInputTokens }) => blocks.openMessage(inputTokens, cachedInputTokens),
    'text-start': close,
    'text-delta': addText,
    'text-end': close,
    'refusal-start': close,
    'refusal-delta': addText,
    'refusal-end': close,
    'reasoning-start': close,
    'reasoning-delta': ({ delta }) => blocks.addThought(delta),
    'reasoning-end': ({ opaque }) => blocks.endThought(opaque),
    annotation: ({ annotation }) =>
      blocks.to('text') + blocks.add({ type: 'citations_delta', citation: encodeCitation(annotation) }),
    'tool-call-start': (event) => {
      called = event.name
      return blocks.open('call', encodeCall(event, {}))
    },
    // Calls never interleave, so the open block is this call's.
    'tool-call-delta': ({ delta }) => (delta === '' ? '' : blocks.addInput(delta)),
    'tool-call-end': ({ state }) => {
      // The client would fail to read them, without a reason.
      if (state === 'unparseable') throw unreadableCall(called)
      return close()
    },
    'server-tool-start': ({ call }) => {
      running = call
      count.add(call)
      return blocks.open('call', encodeServerCall(call, {})) + blocks.addInput(JSON.stringify(call.arguments)) + close()
    },
    'server-tool-end': ({ outcome }) => {
      if (running === undefined) return ''
      const result = encodeOutcome(running, outcome, style)
      running = undefined
      return blocks.open('result', result) + close()
    },
    finish: (event) => {
      finish = event
      return blocks.openMessage() + close()
    },
    usage: ({ usage }) => {
      const reason = encodeStop(finish ?? { reason: 'stop' })
      const end = frame('message_delta', { delta: reason, usage: encodeUsage(usage, count.toJson()) })
      return blocks.openMessage() + close() + end + frame('message_stop', {})
    },
    error: ({ error }) => `event: error\ndata: ${toFrameJson(encodeAnthropicError(error, style.requestId).body)}\n\n`,
  })
}

type Block = { readonly type: 'text' | 'thinking' | 'call' | 'result'; thought: string; opaque?: string }

/** The frames of a message and its blocks: a block begins with its first piece and ends before the next begins. */
class Blocks {
  start: StartEvent | undefined
  readonly #style: ReplyStyle
  #isOpen = false
  #block: Block | undefined
  #count = 0

  constructor(style: ReplyStyle) {
    this.#style = style
  }

  openMessage(inputTokens = this.start?.inputTokens ?? 0, cachedInputTokens = 0): string {
    if (this.#isOpen || this.start === undefined) return ''
    this.#isOpen = true
    const usage = encodeUsage({ inputTokens, cachedInputTokens, outputTokens: 0, reasoningTokens: 0 })
    return frame('message_start', { message: encodeHead(this.#style.id, this.start, usage) })
  }

  open(type: Block['type'], content: object): string {
    const before = this.openMessage() + this.close()
    this.#block = { type, thought: '' }
    return before + frame('content_block_start', { index: this.#count++, content_block: content })
  }

  /** The frames that lead to a block of this type: none while one is open. */
  to(type: 'text' | 'thinking'): string {
    if (this.#block?.type === type) return ''
    return this.open(type, type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' })
  }

  add(delta: object): string {
    return frame('content_block_delta', { index: this.#count - 1, delta })
  }

  addText(text: string): string {
    return text === '' ? '' : this.to('text') + this.add({ type: 'text_delta', text })
  }

  addInput(json: string): string {
    return this.add({ type: 'input_json_delta', partial_json: json })
  }

  addThought(text: string): string {
    const { thinking } = this.#style
    if (text === '' || thinking === 'none') return ''
    const opened = this.to('thinking')
    if (this.#block !== undefined) this.#block.thought += text
    return opened + (thinking === 'shown' ? this.add({ type: 'thinking_delta', thinking: text }) : '')
  }

  /** A server may sign reasoning without showing it. */
  endThought(opaque: string | undefined): string {
    if (opaque === undefined || this.#style.thinking === 'none') return this.close()
    const opened = this.to('thinking')
    if (this.#block !== undefined) this.#block.opaque = opaque
    return opened + this.close()
  }

  close(): string {
    if (this.#block === undefined) return ''
    const { type, thought: text, opaque } = this.#block
    this.#block = undefined
    const signature = () => sign(this.#style.sealer, { text, ...(opaque !== undefined && { opaque }) })
    const signed = type === 'thinking' ? this.add({ type: 'signature_delta', signature: signature() }) : ''
    return signed + frame('content_block_stop', { index: this.#count - 1 })
  }
}

function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${toFrameJson({ type, ...fields })}\n\n`
}

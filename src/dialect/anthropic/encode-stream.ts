import type { StreamEncoder } from '../../contract/dialect.ts'
import type { GenerationEvent, ServerToolCall, StartEvent } from '../../contract/event.ts'
import { unreadableCall } from '../wire/call-input.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeCall, encodeCitation, encodeHead, encodeStop, encodeUsage, type ReplyStyle, sign, unreachable } from './encode.ts'
import { encodeOutcome, encodeServerCall, ServerToolCount } from './encode-server-tools.ts'
import { encodeAnthropicError } from './errors.ts'

type Finish = Extract<GenerationEvent, { type: 'finish' }>
type Block = { readonly type: 'text' | 'thinking' | 'call' | 'result'; readonly index: number; thought: string; opaque?: string }

/**
 * Encodes events as Anthropic's. A block begins with its first piece and ends before the next begins; `message_start` waits until the
 * engine has read the prompt, because it says how much of it came from a cache.
 */
export function createMessageEncoder(style: ReplyStyle & { readonly requestId?: string }): StreamEncoder {
  let start: StartEvent | undefined
  let isOpen = false
  let block: Block | undefined
  let blocks = 0
  let finish: Finish | undefined
  /** The tool of the last call. */
  let called = ''
  /** The tool of the server that runs. */
  let running: ServerToolCall | undefined
  const count = new ServerToolCount()

  function open(inputTokens = start?.inputTokens ?? 0, cachedInputTokens = 0): string {
    if (isOpen || start === undefined) return ''
    isOpen = true
    const usage = encodeUsage({ inputTokens, cachedInputTokens, outputTokens: 0, reasoningTokens: 0 })
    return frame('message_start', { message: encodeHead(style.id, start.model, usage) })
  }

  function closeBlock(): string {
    if (block === undefined) return ''
    const { type, index, thought: text, opaque } = block
    block = undefined
    const signature = () => sign(style.sealer, { text, ...(opaque !== undefined && { opaque }) })
    const signed = type === 'thinking' ? delta(index, { type: 'signature_delta', signature: signature() }) : ''
    return signed + frame('content_block_stop', { index })
  }

  function openBlock(type: Block['type'], content: object): string {
    const closed = open() + closeBlock()
    block = { type, index: blocks, thought: '' }
    blocks += 1
    return closed + frame('content_block_start', { index: block.index, content_block: content })
  }

  /** The frames that lead to a block of this type; a text, or a thought, goes on in the open one. */
  function toBlock(type: 'text' | 'thinking'): string {
    if (block?.type === type) return ''
    return openBlock(type, type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' })
  }

  function addText(text: string): string {
    if (text === '') return ''
    return toBlock('text') + delta(blocks - 1, { type: 'text_delta', text })
  }

  function addThought(text: string): string {
    if (text === '' || style.thinking === 'none') return ''
    const opened = toBlock('thinking')
    if (block !== undefined) block.thought += text
    return opened + (style.thinking === 'shown' ? delta(blocks - 1, { type: 'thinking_delta', thinking: text }) : '')
  }

  /** A server may sign a thought without showing it. */
  function endThought(opaque: string | undefined): string {
    if (opaque === undefined || style.thinking === 'none') return closeBlock()
    const opened = toBlock('thinking')
    if (block !== undefined) block.opaque = opaque
    return opened + closeBlock()
  }

  function beginServerCall(call: ServerToolCall): string {
    const opened = openBlock('call', encodeServerCall(call, {}))
    return opened + delta(blocks - 1, { type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) }) + closeBlock()
  }

  function encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'start':
        start = event
        return ''
      case 'prompt-read':
        return open(event.inputTokens, event.cachedInputTokens)
      case 'text-delta':
      case 'refusal-delta':
        return addText(event.delta)
      case 'reasoning-delta':
        return addThought(event.delta)
      case 'annotation':
        return toBlock('text') + delta(blocks - 1, { type: 'citations_delta', citation: encodeCitation(event.annotation) })
      case 'tool-call-start':
        called = event.name
        return openBlock('call', encodeCall(event, {}))
      case 'tool-call-delta':
        // Calls never interleave, so the open block is this call's.
        return event.delta === '' ? '' : delta(blocks - 1, { type: 'input_json_delta', partial_json: event.delta })
      case 'text-start':
      case 'reasoning-start':
      case 'refusal-start':
      case 'text-end':
      case 'refusal-end':
        return closeBlock()
      case 'reasoning-end':
        return endThought(event.opaque)
      case 'tool-call-end':
        // The client would fail to read them, without a reason.
        if (event.state === 'unparseable') throw unreadableCall(called)
        return closeBlock()
      case 'mcp-tools':
        if (event.error !== undefined) throw unreachable(event.server, event.error)
        return ''
      // Nobody is asked.
      case 'approval-request':
        return ''
      case 'server-tool-start':
        running = event.call
        count.add(running)
        return beginServerCall(running)
      case 'server-tool-end': {
        if (running === undefined) return ''
        const result = encodeOutcome(running, event.outcome, style)
        running = undefined
        return openBlock('result', result) + closeBlock()
      }
      case 'finish':
        finish = event
        return open() + closeBlock()
      // Only OpenAI's protocols ask for them.
      case 'prompt-progress':
      case 'prompt-tokens':
        return ''
      case 'usage': {
        const reason = encodeStop(finish ?? { reason: 'stop' })
        const end = frame('message_delta', { delta: reason, usage: encodeUsage(event.usage, count.toJson()) })
        return `${open()}${closeBlock()}${end}${frame('message_stop', {})}`
      }
      case 'error':
        return `event: error\ndata: ${toFrameJson(encodeAnthropicError(event.error, style.requestId).body)}\n\n`
    }
  }

  return { encode }
}

function delta(index: number, value: object): string {
  return frame('content_block_delta', { index, delta: value })
}

function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${toFrameJson({ type, ...fields })}\n\n`
}

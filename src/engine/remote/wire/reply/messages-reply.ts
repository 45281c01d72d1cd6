import type { Annotation } from '../../../../contract/request.ts'
import { asArray, asCount, asObject, asText, type Loose } from '../../transport/loose-json.ts'
import { reportedError } from '../../transport/reported-error.ts'
import { excess } from '../../transport/upstream-error.ts'
import { callPiece, chunkOf, pieceOf, type WireChoice, type WireChunk, type WireUsage } from '../../transport/wire-chunk.ts'
import { notAnObject } from '../../transport/wire-reply.ts'
import { writeOpaque } from '../body/opaque.ts'

/** No reply has more open blocks, and no signature is longer. */
const maxOpen = 128
const maxSignature = 16 * 1024 * 1024

type Block =
  | { readonly type: 'text' }
  | { readonly type: 'thinking'; signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  /** `input`: its value at the beginning of the block, used if no piece follows. */
  | { readonly type: 'call'; readonly input: string; hasPieces: boolean }

const nothing = chunkOf([])

/** Reads the events of one reply of Messages, or a whole one, as chunks. Unknown events and blocks are skipped: more may be added. */
export class MessagesReply {
  readonly #open = new Map<number, Block>()
  #hasCalls = false
  #usage: Loose = {}

  /** Throws an `UpstreamError` for an error that the server reports, and for a value that is not an object. */
  read(value: unknown): WireChunk {
    const event = asObject(value)
    if (event === undefined) throw notAnObject()
    if (event.type === 'error' || (event.error !== undefined && event.error !== null)) throw reportedError(event.error ?? event)
    const index = asCount(event.index) ?? 0
    switch (event.type) {
      case 'message_start':
        this.#count(asObject(event.message)?.usage)
        return { prompt: this.#readPrompt(), ...nothing }
      case 'content_block_start':
        return chunkOf(this.#begin(index, asObject(event.content_block)))
      case 'content_block_delta':
        return chunkOf(this.#add(index, asObject(event.delta)))
      case 'content_block_stop':
        return chunkOf(this.#end(index))
      case 'message_delta':
        this.#count(event.usage)
        return chunkOf(finishOf(asObject(event.delta)), this.#readUsage())
      case 'message':
        this.#count(event.usage)
        return chunkOf([...this.#readContent(event.content), ...finishOf(event)], this.#readUsage())
      default:
        return nothing
    }
  }

  #readContent(content: unknown): readonly WireChoice[] {
    return asArray(content).flatMap((block, index) => [...this.#begin(index, asObject(block)), ...this.#end(index)])
  }

  #begin(index: number, block: Loose | undefined): readonly WireChoice[] {
    const opened = blockOf(block)
    if (opened === undefined) return []
    if (this.#open.size >= maxOpen) throw excess(`more than ${maxOpen} open blocks`)
    this.#open.set(index, opened)
    const endsCalls = this.#hasCalls && opened.type !== 'call' && ({ endsCalls: true } as const)
    switch (opened.type) {
      case 'text': {
        const citations = asArray(block?.citations).flatMap(readCitation)
        return [pieceOf({ ...endsCalls, text: asText(block?.text) ?? '', annotations: citations })]
      }
      case 'thinking':
        return [pieceOf({ ...endsCalls, reasoning: asText(block?.thinking) ?? '' })]
      case 'redacted':
        return [pieceOf({ ...endsCalls })]
      case 'call': {
        this.#hasCalls = true
        const call = { index, id: asText(block?.id), name: asText(block?.name) ?? '', arguments: '' }
        return [pieceOf({ calls: [call] })]
      }
    }
  }

  #add(index: number, delta: Loose | undefined): readonly WireChoice[] {
    const block = this.#open.get(index)
    switch (delta?.type) {
      case 'text_delta':
        return [pieceOf({ text: asText(delta.text) ?? '' })]
      case 'citations_delta':
        return [pieceOf({ annotations: readCitation(delta.citation) })]
      case 'thinking_delta':
        return [pieceOf({ reasoning: asText(delta.thinking) ?? '' })]
      case 'signature_delta':
        if (block?.type === 'thinking') addSignature(block, asText(delta.signature) ?? '')
        return []
      case 'input_json_delta': {
        const piece = asText(delta.partial_json) ?? ''
        if (block?.type !== 'call' || piece === '') return []
        block.hasPieces = true
        return [callPiece(index, piece)]
      }
      default:
        return []
    }
  }

  #end(index: number): readonly WireChoice[] {
    const block = this.#open.get(index)
    this.#open.delete(index)
    switch (block?.type) {
      case 'thinking':
        return block.signature === '' ? [] : [pieceOf({ opaque: writeOpaque({ type: 'signature', value: block.signature }) })]
      case 'redacted':
        return [pieceOf({ opaque: writeOpaque({ type: 'redacted', value: block.data }) })]
      case 'call':
        return block.hasPieces || block.input === '' ? [] : [callPiece(index, block.input)]
      case 'text':
      case undefined:
        return []
    }
  }

  /** Later counts replace earlier ones. A count that an event omits stays. */
  #count(usage: unknown): void {
    const known = Object.entries(asObject(usage) ?? {}).filter(([, value]) => value !== null)
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) }
  }

  /** This protocol counts cached tokens separately, as if they were not part of the input. */
  #readPrompt(): Pick<WireUsage, 'inputTokens' | 'cachedTokens'> {
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = this.#usage
    const cachedTokens = asCount(cache_read_input_tokens) ?? 0
    const inputTokens = (asCount(input_tokens) ?? 0) + (asCount(cache_creation_input_tokens) ?? 0) + cachedTokens
    return { inputTokens, cachedTokens }
  }

  #readUsage(): WireUsage | undefined {
    const outputTokens = asCount(this.#usage.output_tokens)
    if (outputTokens === undefined) return undefined
    return {
      outputTokens,
      reasoningTokens: asCount(asObject(this.#usage.output_tokens_details)?.thinking_tokens) ?? 0,
      ...this.#readPrompt(),
    }
  }
}

/** Undefined for blocks of tools that the server runs itself: none were requested. */
function blockOf(block: Loose | undefined): Block | undefined {
  switch (block?.type) {
    case 'text':
      return { type: 'text' }
    case 'thinking':
      return { type: 'thinking', signature: asText(block.signature) ?? '' }
    case 'redacted_thinking':
      return { type: 'redacted', data: asText(block.data) ?? '' }
    case 'tool_use': {
      const input = Object.keys(asObject(block.input) ?? {}).length === 0 ? '' : JSON.stringify(block.input)
      return { type: 'call', input, hasPieces: false }
    }
    default:
      return undefined
  }
}

function addSignature(block: Extract<Block, { type: 'thinking' }>, piece: string): void {
  block.signature += piece
  if (block.signature.length > maxSignature) throw excess(`a signature of more than ${maxSignature} characters`)
}

function finishOf(delta: Loose | undefined): readonly WireChoice[] {
  const finishReason = asText(delta?.stop_reason)
  return finishReason === undefined ? [] : [pieceOf({ finishReason, stop: delta?.stop_sequence ?? undefined })]
}

/** Sources that the canonical form can express. The quoted text is in the reply's own words. */
function readCitation(value: unknown): readonly Annotation[] {
  const citation = asObject(value)
  const title = asText(citation?.title)
  const url = asText(citation?.url)
  if (url !== undefined) return [{ type: 'url-citation', url, ...(title !== undefined && { title }) }]
  const fileId = asText(citation?.file_id)
  if (fileId === undefined) return []
  const filename = asText(citation?.document_title)
  const index = asCount(citation?.start_char_index)
  return [{ type: 'file-citation', fileId, ...(filename !== undefined && { filename }), ...(index !== undefined && { index }) }]
}

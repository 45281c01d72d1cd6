import type { Annotation } from '../../../../contract/request.ts'
import { asArray, asCount, asObject, asText, type Loose } from '../../transport/loose-json.ts'
import { reportedError } from '../../transport/reported-error.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { callPiece, chunkOf, pieceOf, type WireChoice, type WireChunk, type WireUsage } from '../../transport/wire-chunk.ts'
import { notAnObject } from '../../transport/wire-reply.ts'
import { writeOpaque } from '../body/opaque.ts'
import { writeThought } from '../body/thought.ts'

/** No reply has more open items. */
const maxOpen = 128

/** An item that has begun. Its content is read from its end if no piece came before. */
type Item = { hasPieces: boolean; isSummary: boolean }

const nothing = chunkOf([])

/** Reads the events of one reply of Responses, or a whole one, as chunks. Unknown events and items are skipped: more may be added. */
export class ResponsesReply {
  readonly #open = new Map<number, Item>()
  #hasCalls = false
  #hasItems = false

  /** Throws an `UpstreamError` for an error that the server reports, and for a value that is not an object. */
  read(value: unknown): WireChunk {
    const event = asObject(value)
    if (event === undefined) throw notAnObject()
    if (event.type === 'error') throw reportedError(event.error ?? event)
    if (event.object === 'response') return this.#end(event)
    if (event.error !== undefined && event.error !== null) throw reportedError(event.error)
    const index = asCount(event.output_index) ?? 0
    switch (event.type) {
      case 'response.output_item.added':
        return chunkOf(this.#begin(index, asObject(event.item)))
      case 'response.output_item.done':
        return chunkOf(this.#finish(index, asObject(event.item)))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#end(asObject(event.response) ?? {})
      case 'response.reasoning_summary_part.added':
        return chunkOf(this.#addSummary(index, event))
      default:
        return chunkOf(this.#addDelta(index, event))
    }
  }

  #addDelta(index: number, event: Loose): readonly WireChoice[] {
    const delta = asText(event.delta) ?? ''
    switch (event.type) {
      case 'response.output_text.delta':
        return this.#piece(index, pieceOf({ text: delta, ...logprobsOf(event) }))
      case 'response.refusal.delta':
        return this.#piece(index, pieceOf({ refusal: delta }))
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return this.#piece(index, pieceOf({ reasoning: delta }))
      case 'response.function_call_arguments.delta':
        return this.#piece(index, callPiece(index, delta))
      case 'response.output_text.annotation.added':
        return this.#piece(index, pieceOf({ annotations: readAnnotation(event.annotation) }))
      default:
        return []
    }
  }

  #piece(index: number, piece: WireChoice): readonly WireChoice[] {
    const item = this.#open.get(index)
    if (item !== undefined) item.hasPieces = true
    return [piece]
  }

  /** Parts of a summary are paragraphs. */
  #addSummary(index: number, { summary_index }: Loose): readonly WireChoice[] {
    const item = this.#open.get(index)
    if (item !== undefined) item.isSummary = true
    return item?.hasPieces === true && summary_index !== 0 ? [pieceOf({ reasoning: '\n\n' })] : []
  }

  #begin(index: number, item: Loose | undefined): readonly WireChoice[] {
    if (!this.#open.has(index) && this.#open.size >= maxOpen) throw tooManyItems()
    this.#hasItems = true
    this.#open.set(index, { hasPieces: false, isSummary: false })
    switch (item?.type) {
      case 'function_call':
      case 'custom_tool_call': {
        this.#hasCalls = true
        const id = asText(item.call_id) ?? asText(item.id)
        return [pieceOf({ calls: [{ index, id, name: asText(item.name) ?? '', arguments: '' }] })]
      }
      case 'message':
      case 'reasoning':
        return this.#hasCalls ? [pieceOf({ endsCalls: true })] : []
      default:
        return []
    }
  }

  #finish(index: number, item: Loose | undefined): readonly WireChoice[] {
    const begun = this.#open.has(index) ? [] : this.#begin(index, item)
    const { hasPieces = false, isSummary = false } = this.#open.get(index) ?? {}
    this.#open.delete(index)
    const late = hasPieces ? [] : contentOf(index, item)
    return [...begun, ...late, ...opaqueOf(item, isSummary)]
  }

  /** The response itself, which also ends a stream. */
  #end(response: Loose): WireChunk {
    const { status, error, output } = response
    if (status === 'failed' || (error !== undefined && error !== null)) throw reportedError(error ?? { message: 'it failed' })
    const whole = this.#hasItems ? [] : asArray(output).flatMap((item, index) => this.#finish(index, asObject(item)))
    const finishReason = finishOf(response)
    const end = finishReason === undefined ? [] : [pieceOf({ finishReason })]
    const usage = readUsage(response.usage)
    return whole.length === 0 && end.length === 0 && usage === undefined ? nothing : chunkOf([...whole, ...end], usage)
  }
}

/** An incomplete response must never read as a complete one. */
function finishOf({ status, incomplete_details }: Loose): string | undefined {
  switch (status) {
    case 'completed':
      return 'stop'
    case 'incomplete':
      return asText(asObject(incomplete_details)?.reason) === 'content_filter' ? 'content_filter' : 'length'
    case 'cancelled':
      return 'cancelled'
    default:
      return undefined
  }
}

/** The content that a server sent only at the end of an item. */
function contentOf(index: number, item: Loose | undefined): readonly WireChoice[] {
  switch (item?.type) {
    case 'message':
      return asArray(item.content).flatMap(messagePart)
    case 'reasoning': {
      const parts = asArray(item.content).length > 0 ? asArray(item.content) : asArray(item.summary)
      const text = parts.map((part) => asText(asObject(part)?.text) ?? '').join('\n\n')
      return text === '' ? [] : [pieceOf({ reasoning: text })]
    }
    case 'function_call':
      return [callPiece(index, asText(item.arguments) ?? '')]
    // The tool was declared as a function with this one argument.
    case 'custom_tool_call':
      return [callPiece(index, JSON.stringify({ input: asText(item.input) ?? '' }))]
    default:
      return []
  }
}

function messagePart(value: unknown): readonly WireChoice[] {
  const part = asObject(value)
  const refusal = asText(part?.refusal)
  if (refusal !== undefined) return [pieceOf({ refusal })]
  const annotations = asArray(part?.annotations).flatMap(readAnnotation)
  return [pieceOf({ text: asText(part?.text) ?? '', annotations, ...logprobsOf(part ?? {}) })]
}

function logprobsOf({ logprobs }: Loose): Pick<WireChoice, 'logprobs'> {
  return { logprobs: Array.isArray(logprobs) && logprobs.length > 0 ? { content: logprobs } : undefined }
}

function opaqueOf(item: Loose | undefined, isSummary: boolean): readonly WireChoice[] {
  const encrypted = asText(item?.encrypted_content)
  if (item?.type !== 'reasoning' || encrypted === undefined || encrypted === '') return []
  const thought = { id: asText(item.id), isSummary: isSummary || asArray(item.summary).length > 0, encrypted }
  return [pieceOf({ opaque: writeOpaque({ type: 'thought', value: writeThought(thought) }) })]
}

function readAnnotation(value: unknown): readonly Annotation[] {
  const annotation = asObject(value)
  const url = asText(annotation?.url)
  if (url !== undefined) {
    const title = asText(annotation?.title)
    const [startIndex, endIndex] = [asCount(annotation?.start_index), asCount(annotation?.end_index)]
    const at = { ...(startIndex !== undefined && { startIndex }), ...(endIndex !== undefined && { endIndex }) }
    return [{ type: 'url-citation', url, ...(title !== undefined && { title }), ...at }]
  }
  const fileId = asText(annotation?.file_id)
  if (fileId === undefined) return []
  const [filename, index] = [asText(annotation?.filename), asCount(annotation?.index)]
  return [{ type: 'file-citation', fileId, ...(filename !== undefined && { filename }), ...(index !== undefined && { index }) }]
}

function readUsage(value: unknown): WireUsage | undefined {
  const usage = asObject(value)
  const inputTokens = asCount(usage?.input_tokens)
  const outputTokens = asCount(usage?.output_tokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  return {
    inputTokens,
    outputTokens,
    cachedTokens: asCount(asObject(usage?.input_tokens_details)?.cached_tokens) ?? 0,
    reasoningTokens: asCount(asObject(usage?.output_tokens_details)?.reasoning_tokens) ?? 0,
  }
}

function tooManyItems(): UpstreamError {
  return new UpstreamError({ type: 'excess' }, `the server behind this model sent more than ${maxOpen} open items`)
}

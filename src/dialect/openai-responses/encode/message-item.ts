import type { GeneratedToken } from '../../../contract/event.ts'
import type { Annotation, JsonObject } from '../../../contract/request.ts'
import { toWireLogprob } from '../../openai/logprobs/wire-logprob.ts'
import { createItemId } from '../item-id.ts'
import type { ResponseItem } from '../replies.ts'
import type { Emitter, OutputItem } from './output-item.ts'

type Part =
  | { readonly type: 'output_text'; text: string; readonly annotations: JsonObject[]; readonly logprobs: JsonObject[] }
  | { readonly type: 'refusal'; refusal: string }

/** A message of the assistant's: texts and refusals, in order. */
export class MessageItem implements OutputItem {
  readonly id = createItemId('msg')
  readonly #emitter: Emitter
  readonly #logprobs: boolean
  readonly #parts: Part[] = []
  #status: 'in_progress' | 'completed' | 'incomplete' = 'in_progress'
  #isPartOpen = false
  /** The next delta begins another part. */
  #isBlockEnded = false

  constructor(emitter: Emitter, { logprobs }: { readonly logprobs: boolean }) {
    this.#emitter = emitter
    this.#logprobs = logprobs
    emitter.send('response.output_item.added', { output_index: emitter.outputIndex, item: this.toJson() })
  }

  addText(delta: string, tokens: readonly GeneratedToken[]): void {
    if (delta === '') return
    const part = this.#openText()
    const logprobs = this.#logprobs ? tokens.map(encodeToken) : []
    part.text += delta
    part.logprobs.push(...logprobs)
    this.#send('response.output_text.delta', { delta, logprobs })
  }

  addRefusal(delta: string): void {
    if (delta === '') return
    const last = this.#lastOpen()
    const part = last?.type === 'refusal' ? last : this.#open({ type: 'refusal' as const, refusal: '' })
    part.refusal += delta
    this.#send('response.refusal.delta', { delta })
  }

  /** A source of the last text, also where its block has ended. */
  addAnnotation(annotation: Annotation): void {
    const last = this.#isPartOpen ? this.#parts.at(-1) : undefined
    const part = last?.type === 'output_text' ? last : this.#openText()
    const encoded = encodeAnnotation(annotation)
    part.annotations.push(encoded)
    this.#send('response.output_text.annotation.added', {
      annotation: encoded,
      annotation_index: part.annotations.length - 1,
    })
  }

  endBlock(): void {
    this.#isBlockEnded = true
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#closePart()
    this.#status = status
    const { send, outputIndex } = this.#emitter
    send('response.output_item.done', { output_index: outputIndex, item: this.toJson() })
  }

  toJson(): ResponseItem {
    const content = this.#parts.map((part) => this.#encodePart(part))
    return { id: this.id, type: 'message', status: this.#status, role: 'assistant', content }
  }

  #lastOpen(): Part | undefined {
    return this.#isPartOpen && !this.#isBlockEnded ? this.#parts.at(-1) : undefined
  }

  #openText() {
    const last = this.#lastOpen()
    if (last?.type === 'output_text') return last
    return this.#open({ type: 'output_text' as const, text: '', annotations: [], logprobs: [] })
  }

  #open<P extends Part>(part: P): P {
    this.#closePart()
    this.#parts.push(part)
    this.#isPartOpen = true
    this.#isBlockEnded = false
    this.#send('response.content_part.added', { part: this.#encodePart(part) })
    return part
  }

  #closePart(): void {
    const part = this.#parts.at(-1)
    if (!this.#isPartOpen || part === undefined) return
    if (part.type === 'refusal') this.#send('response.refusal.done', { refusal: part.refusal })
    else this.#send('response.output_text.done', { text: part.text, logprobs: [...part.logprobs] })
    this.#send('response.content_part.done', { part: this.#encodePart(part) })
    this.#isPartOpen = false
  }

  #send(type: string, fields: JsonObject): void {
    const { send, outputIndex } = this.#emitter
    send(type, { item_id: this.id, output_index: outputIndex, content_index: this.#parts.length - 1, ...fields })
  }

  #encodePart(part: Part): JsonObject {
    if (part.type === 'refusal') return { ...part }
    const { type, text, annotations, logprobs } = part
    return { type, text, annotations: [...annotations], logprobs: [...logprobs] }
  }
}

function encodeToken(token: GeneratedToken): JsonObject {
  return { ...encodeScore(token), top_logprobs: token.top.map(encodeScore) }
}

function encodeScore({ text, bytes, logprob }: Pick<GeneratedToken, 'text' | 'bytes' | 'logprob'>): JsonObject {
  return { token: text, logprob: toWireLogprob(logprob), bytes }
}

/** OpenAI's types require every field; what the upstream did not say is empty. */
function encodeAnnotation(annotation: Annotation): JsonObject {
  switch (annotation.type) {
    case 'url-citation': {
      const { url, title, startIndex, endIndex } = annotation
      return { type: 'url_citation', url, title: title ?? '', start_index: startIndex ?? 0, end_index: endIndex ?? 0 }
    }
    case 'file-citation': {
      const { fileId, filename, index } = annotation
      return { type: 'file_citation', file_id: fileId, filename: filename ?? '', index: index ?? 0 }
    }
  }
}

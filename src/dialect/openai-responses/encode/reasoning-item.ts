import type { JsonObject } from '../../../contract/request.ts'
import type { Sealer } from '../../../contract/sealer.ts'
import { seal } from '../../wire/sealed.ts'
import { createItemId } from '../item-id.ts'
import type { ResponseItem } from '../replies.ts'
import type { Emitter, OutputItem } from './output-item.ts'

/** The events of a thought, as a summary and as it is. */
const words = {
  summary: {
    part: 'summary_text',
    index: 'summary_index',
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    textDone: 'response.reasoning_summary_text.done',
    done: 'response.reasoning_summary_part.done',
  },
  content: {
    part: 'reasoning_text',
    index: 'content_index',
    added: 'response.content_part.added',
    delta: 'response.reasoning_text.delta',
    textDone: 'response.reasoning_text.done',
    done: 'response.content_part.done',
  },
} as const

type Style = { readonly thoughts: keyof typeof words; readonly encrypts: boolean; readonly sealer: Sealer }

/** One thought of the model. */
export class ReasoningItem implements OutputItem {
  readonly id = createItemId('rs')
  readonly #emitter: Emitter
  readonly #style: Style
  #text = ''
  #isPartOpen = false
  #opaque: string | undefined
  #encrypted: string | undefined
  #status: 'in_progress' | 'completed' | 'incomplete' = 'in_progress'

  constructor(emitter: Emitter, style: Style) {
    this.#emitter = emitter
    this.#style = style
    emitter.send('response.output_item.added', { output_index: emitter.outputIndex, item: this.toJson() })
  }

  add(delta: string): void {
    if (delta === '') return
    const { part, added, delta: type } = words[this.#style.thoughts]
    if (!this.#isPartOpen) this.#send(added, { part: { type: part, text: '' } })
    this.#isPartOpen = true
    this.#text += delta
    this.#send(type, { delta })
  }

  /** The upstream's signature or encrypted content of this thought. */
  addOpaque(opaque: string): void {
    this.#opaque = opaque
  }

  close(status: 'completed' | 'incomplete'): void {
    const { part, textDone, done } = words[this.#style.thoughts]
    const text = this.#text
    if (this.#isPartOpen) {
      this.#send(textDone, { text })
      this.#send(done, { part: { type: part, text } })
    }
    this.#status = status
    const opaque = this.#opaque
    if (this.#style.encrypts) {
      this.#encrypted = seal(this.#style.sealer, { kind: 'thought', text, ...(opaque !== undefined && { opaque }) })
    }
    const { send, outputIndex } = this.#emitter
    send('response.output_item.done', { output_index: outputIndex, item: this.toJson() })
  }

  toJson(): ResponseItem {
    const { thoughts, encrypts } = this.#style
    const parts = this.#isPartOpen ? [{ type: words[thoughts].part, text: this.#text }] : []
    const shown = thoughts === 'summary' ? { summary: parts } : { summary: [], content: parts }
    return {
      id: this.id,
      type: 'reasoning',
      status: this.#status,
      ...shown,
      ...(encrypts && { encrypted_content: this.#encrypted ?? '' }),
    }
  }

  #send(type: string, fields: JsonObject): void {
    const { send, outputIndex } = this.#emitter
    send(type, { item_id: this.id, output_index: outputIndex, [words[this.#style.thoughts].index]: 0, ...fields })
  }
}

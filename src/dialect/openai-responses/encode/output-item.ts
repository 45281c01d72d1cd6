import type { JsonObject } from '../../../contract/request.ts'
import type { MadeItem, ResponseItem } from '../replies.ts'
import { beginningOfServerItem, beginServerItem, endServerItem, isServerItem } from './server-events.ts'

/** Emits an event of the stream; the encoder adds its `sequence_number`. */
export type Send = (type: string, fields: JsonObject) => void

/** An item that grows; its id and its index never change. */
export type OutputItem = {
  readonly id: string
  /** The item as it stands now, on the wire. */
  toJson(): ResponseItem
  /** Ends it, with the events of its end; once. `incomplete`: the reply was truncated here. */
  close(status: 'completed' | 'incomplete'): void
}

/** Where an item sends its events, and what is added to each of them. */
export type Emitter = { readonly send: Send; readonly outputIndex: number }

/** An item that is complete when it is added. */
export class WholeItem implements OutputItem {
  readonly id: string
  readonly #emitter: Emitter
  readonly #json: ResponseItem

  constructor(emitter: Emitter, { id, json }: MadeItem) {
    this.id = id
    this.#emitter = emitter
    this.#json = json
    emitter.send('response.output_item.added', {
      output_index: emitter.outputIndex,
      item: isServerItem(json) ? beginningOfServerItem(json) : json,
    })
    this.#sendAll(isServerItem(json) ? beginServerItem(json) : [])
  }

  close(): void {
    const { send, outputIndex } = this.#emitter
    this.#sendAll(isServerItem(this.#json) ? endServerItem(this.#json) : [])
    send('response.output_item.done', { output_index: outputIndex, item: this.#json })
  }

  toJson(): ResponseItem {
    return this.#json
  }

  #sendAll(events: ReturnType<typeof beginServerItem>): void {
    const { send, outputIndex } = this.#emitter
    for (const [type, fields] of events) send(type, { item_id: this.id, output_index: outputIndex, ...fields })
  }
}

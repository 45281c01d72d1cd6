import type { JsonObject } from '../../../contract/request.ts'
import type { StoredItem } from '../../../contract/store.ts'
import type { Emitter, OutputItem } from './output-item.ts'

/** An item that is complete when it is added. */
export class WholeItem implements OutputItem {
  readonly id: string
  readonly #emitter: Emitter
  readonly #json: JsonObject

  constructor(emitter: Emitter, { id, json }: StoredItem) {
    this.id = id
    this.#emitter = emitter
    this.#json = json
    emitter.send('response.output_item.added', { output_index: emitter.outputIndex, item: json })
  }

  close(): void {
    const { send, outputIndex } = this.#emitter
    send('response.output_item.done', { output_index: outputIndex, item: this.#json })
  }

  toJson(): JsonObject {
    return this.#json
  }
}

import type { JsonObject } from '../../../contract/request.ts'
import type { StoredItem } from '../../../contract/store.ts'
import type { OutputItem, Place } from './output-item.ts'

/** An item that is complete when it is added. */
export class WholeItem implements OutputItem {
  readonly id: string
  readonly #place: Place
  readonly #json: JsonObject

  constructor(place: Place, { id, json }: StoredItem) {
    this.id = id
    this.#place = place
    this.#json = json
    place.send('response.output_item.added', { output_index: place.outputIndex, item: json })
  }

  close(): void {
    const { send, outputIndex } = this.#place
    send('response.output_item.done', { output_index: outputIndex, item: this.#json })
  }

  toJson(): JsonObject {
    return this.#json
  }
}

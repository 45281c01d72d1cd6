import type { ResponseStore } from '../contract/store.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'

/** How long an event may wait for others before it is stored, where other processes can see it. */
const writeEveryMs = 250

type WriterOptions = {
  readonly id: string
  readonly responses: Pick<ResponseStore, 'addEvents'>
  onFailure(error: unknown): void
}

/** Stores the events of one response in batches, in order. */
export class EventWriter {
  readonly #options: WriterOptions
  #pending: ResponseEvent[] = []
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(options: WriterOptions) {
    this.#options = options
  }

  add(events: readonly ResponseEvent[]): void {
    for (const event of events) this.#pending.push(event)
    this.#timer ??= setTimeout(() => this.flush(), writeEveryMs)
  }

  /** Resolves when everything added so far is stored, or has failed to be. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#pending
    this.#pending = []
    if (batch.length > 0) this.#writing = this.#writing.then(() => this.#write(batch))
    return this.#writing
  }

  async #write(batch: readonly ResponseEvent[]): Promise<void> {
    const { id, responses, onFailure } = this.#options
    try {
      await responses.addEvents(
        id,
        batch.map((event) => ({ sequence: event.sequence_number, json: JSON.stringify(event) })),
      )
    } catch (error) {
      onFailure(error)
    }
  }
}

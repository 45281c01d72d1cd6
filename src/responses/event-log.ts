import type { Emit } from '../contract/emit.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encoder.ts'

/** The events of a response that runs on its own, for any number of readers, each at its own pace. */
export class EventLog {
  readonly #events: ResponseEvent[] = []
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  add(events: readonly ResponseEvent[]): void {
    for (const event of events) this.#events.push(event)
    this.#wake()
  }

  /** No event follows. */
  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  /** Emits the events with a higher number, and those to come. Resolves after the last one, or when the signal is aborted. */
  async follow(after: number, emit: Emit<ResponseEvent>, signal: AbortSignal): Promise<void> {
    let index = this.#events.findIndex((event) => event.sequence_number > after)
    if (index === -1) index = this.#events.length
    while (!signal.aborted) {
      const event = this.#events[index]
      if (event !== undefined) {
        index += 1
        const pending = event.sequence_number > after ? emit(event) : undefined
        if (pending !== undefined) await pending
      } else if (this.#isClosed) return
      else await this.#change(signal)
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}

import type { Emit } from '../base/emit.ts'
import { Waiters } from '../core/waiters.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'

/** The events of a response that runs on its own, for any number of readers, each at its own pace. */
export class EventLog {
  readonly #events: ResponseEvent[] = []
  readonly #waiters = new Waiters()
  #isClosed = false

  add(events: readonly ResponseEvent[]): void {
    for (const event of events) this.#events.push(event)
    this.#waiters.wake()
  }

  /** No event follows. */
  close(): void {
    this.#isClosed = true
    this.#waiters.wake()
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
      else await this.#waiters.wait(signal)
    }
  }
}

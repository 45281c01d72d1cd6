/**
 * Collects reports and sends them in one message when the event loop turns. By then the next pass has begun: writing to the other process
 * takes longer than anything else between two passes.
 */
export class Outbox<T> {
  readonly #send: (items: readonly T[]) => void
  #items: T[] = []

  constructor(send: (items: readonly T[]) => void) {
    this.#send = send
  }

  add(item: T): void {
    if (this.#items.push(item) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const items = this.#items
    this.#items = []
    this.#send(items)
  }
}

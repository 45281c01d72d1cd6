import type { Report } from './channel/ipc.ts'

/** A report about one request, or the end of its worker. */
type Item = { readonly report: Report } | { readonly error: unknown }

/**
 * The unread reports of a worker about one request. When the reader is too slow, `onFull` pauses the worker's generation for it,
 * and `onDrained` resumes it.
 */
export class Inbox {
  static readonly #full = 64
  static readonly #drained = 8
  readonly #items: Item[] = []
  readonly #onFull: () => void
  readonly #onDrained: () => void
  #paused = false
  #wake: (() => void) | undefined

  constructor(flow: { onFull: () => void; onDrained: () => void }) {
    this.#onFull = flow.onFull
    this.#onDrained = flow.onDrained
  }

  push(report: Report): void {
    this.#add({ report })
    if (this.#items.length < Inbox.#full || this.#paused) return
    this.#paused = true
    this.#onFull()
  }

  fail(error: unknown): void {
    this.#add({ error })
  }

  /** The next report, in order. Throws the error given to `fail`, after all earlier reports. */
  async next(): Promise<Report> {
    while (this.#items.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const item = this.#items.shift() as Item
    if (this.#paused && this.#items.length <= Inbox.#drained) {
      this.#paused = false
      this.#onDrained()
    }
    if ('error' in item) throw item.error
    return item.report
  }

  #add(item: Item): void {
    this.#items.push(item)
    this.#wake?.()
    this.#wake = undefined
  }
}

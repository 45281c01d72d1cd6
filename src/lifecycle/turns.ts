/** Lets work on one model run one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs the work after that which came before it for this key. Rejects with the signal's reason when that comes first. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = (async () => {
      await before
      signal.throwIfAborted()
      return work()
    })()
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(key, settled)
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    if (signal.aborted) throw signal.reason
    return new Promise((resolve, reject) => {
      const abandon = () => reject(signal.reason)
      // Only while it waits: work that has begun ends by itself, and cleans up.
      signal.addEventListener('abort', abandon, { once: true })
      void before.then(() => signal.removeEventListener('abort', abandon))
      turn.then(resolve, reject)
    })
  }
}

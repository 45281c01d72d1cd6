/** Lets each owner run a number of works at once; the others wait for their turn, in order. */
export class Lanes {
  readonly #width: number
  readonly #owners = new Map<string, { running: number; readonly waiting: (() => void)[] }>()

  constructor(width: number) {
    this.#width = width
  }

  /** Rejects with the signal's reason while it waits. */
  async run<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const lane = this.#owners.get(owner) ?? { running: 0, waiting: [] }
    this.#owners.set(owner, lane)
    if (lane.running >= this.#width) await this.#turn(lane.waiting, signal)
    else lane.running += 1
    try {
      return await work()
    } finally {
      const next = lane.waiting.shift()
      if (next !== undefined) next()
      else lane.running -= 1
      if (lane.running === 0) this.#owners.delete(owner)
    }
  }

  /** The one before hands its place on. */
  #turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = () => {
        waiting.splice(waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      signal.throwIfAborted()
      signal.addEventListener('abort', stop, { once: true })
      waiting.push(go)
    })
  }
}

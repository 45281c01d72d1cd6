type Waiter = { readonly key: string; begin(): void }

/**
 * Chooses the next program: from the key with the fewest running, the one that has waited longest. Sleeping programs keep no other key
 * waiting: beyond `most`, a key without a running program may begin one, up to twice as many in all.
 */
export function chooseNext(
  waiting: Iterable<string>,
  { running, most }: { readonly running: ReadonlyMap<string, number>; readonly most: number },
): string | undefined {
  const of = (key: string) => running.get(key) ?? 0
  let next: string | undefined
  for (const key of waiting) if (next === undefined || of(key) < of(next)) next = key
  const total = [...running.values()].reduce((sum, count) => sum + count, 0)
  if (next === undefined) return undefined
  return total < most || (of(next) === 0 && total < 2 * most) ? next : undefined
}

/** The programs of keys take turns. */
export class Turns {
  readonly #most: number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Set<Waiter>()

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves when a program of the key may begin; rejects with the signal's reason if that comes first. */
  enter(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(waiter)
        reject(signal.reason)
      }
      const begin = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const waiter = { key, begin }
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(waiter)
      this.#beginNext()
    })
  }

  leave(key: string): void {
    const left = (this.#running.get(key) ?? 0) - 1
    if (left > 0) this.#running.set(key, left)
    else this.#running.delete(key)
    this.#beginNext()
  }

  #beginNext(): void {
    for (;;) {
      const keys = [...this.#waiting].map(({ key }) => key)
      const next = chooseNext(keys, { running: this.#running, most: this.#most })
      const waiter = [...this.#waiting].find(({ key }) => key === next)
      if (waiter === undefined) return
      this.#waiting.delete(waiter)
      this.#running.set(waiter.key, (this.#running.get(waiter.key) ?? 0) + 1)
      waiter.begin()
    }
  }
}

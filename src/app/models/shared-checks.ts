import type { PassedChecks } from '../../contract/server/siblings.ts'
import type { CheckNews } from '../../engine/remote/fleet/check-news.ts'

const tellEveryMs = 1000

/** Servers that have passed a health check: the result of one process spares the others a check. */
export class SharedChecks {
  readonly #tell: ((checks: PassedChecks) => void) | undefined
  readonly #passed = new Map<string, Set<string>>()
  readonly #listeners = new Map<string, Set<(url: string) => void>>()

  /** `tell`: informs the other processes; absent: there are none. */
  constructor(tell?: (checks: PassedChecks) => void) {
    this.#tell = tell
  }

  /** Undefined without other processes. */
  of(model: string): CheckNews | undefined {
    if (this.#tell === undefined) return undefined
    return {
      passed: (url) => this.#note(model, url),
      listen: (heard) => {
        const listeners = this.#listeners.get(model) ?? new Set()
        this.#listeners.set(model, listeners.add(heard))
        return () => void listeners.delete(heard)
      },
    }
  }

  /** Records the result of another process. */
  hear({ model, urls }: PassedChecks): void {
    for (const heard of this.#listeners.get(model) ?? []) urls.forEach(heard)
  }

  #note(model: string, url: string): void {
    if (this.#passed.size === 0) setTimeout(() => this.#tellAll(), tellEveryMs).unref()
    const urls = this.#passed.get(model) ?? new Set()
    this.#passed.set(model, urls.add(url))
  }

  #tellAll(): void {
    for (const [model, urls] of this.#passed) this.#tell?.({ model, urls: [...urls] })
    this.#passed.clear()
  }
}

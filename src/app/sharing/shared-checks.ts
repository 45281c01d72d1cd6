import { z } from 'zod'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { CheckNews } from '../../engine/remote/fleet/check-news.ts'

const tellEveryMs = 1000

/** Servers of a model, by its id and their URLs, that have passed a health check. */
type PassedChecks = { readonly model: string; readonly urls: readonly string[] }

const checkTopic: Topic<PassedChecks> = {
  name: 'checks',
  message: z.object({ model: z.string(), urls: z.array(z.string()) }),
  answer: z.undefined(),
}

/** Servers that have passed a health check: the result of one process spares the others a check. */
export class SharedChecks {
  readonly #siblings: Bus | undefined
  readonly #passed = new Map<string, Set<string>>()
  readonly #listeners = new Map<string, Set<(url: string) => void>>()

  /** `siblings`: the other processes of the server. */
  constructor(siblings?: Bus) {
    this.#siblings = siblings
    void siblings?.subscribe(checkTopic, (checks) => this.#hear(checks))
  }

  /** Undefined without other processes. */
  of(model: string): CheckNews | undefined {
    if (this.#siblings === undefined) return undefined
    return {
      passed: (url) => this.#note(model, url),
      listen: (heard) => {
        const listeners = this.#listeners.get(model) ?? new Set()
        this.#listeners.set(model, listeners.add(heard))
        return () => void listeners.delete(heard)
      },
    }
  }

  #hear({ model, urls }: PassedChecks): undefined {
    for (const heard of this.#listeners.get(model) ?? []) urls.forEach(heard)
  }

  #note(model: string, url: string): void {
    if (this.#passed.size === 0) setTimeout(() => this.#tellAll(), tellEveryMs).unref()
    const urls = this.#passed.get(model) ?? new Set()
    this.#passed.set(model, urls.add(url))
  }

  #tellAll(): void {
    for (const [model, urls] of this.#passed) void this.#siblings?.publish(checkTopic, { model, urls: [...urls] })
    this.#passed.clear()
  }
}

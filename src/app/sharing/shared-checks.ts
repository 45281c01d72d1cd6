import { z } from 'zod'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { CheckNews } from '../../engine/remote/fleet/other-processes.ts'
import type { LoadReport } from '../../engine/remote/servers/load-report.ts'

const tellEveryMs = 1000

type Heard = Parameters<CheckNews['listen']>[0]

/** Servers of a model, by its id and their URLs, that have passed a health check, with their load. */
type PassedChecks = { readonly model: string; readonly passed: readonly { readonly url: string; readonly load?: LoadReport }[] }

const loadReport = z.object({ running: z.number().exactOptional(), waiting: z.number(), cacheUse: z.number().exactOptional() })

const checkTopic: Topic<PassedChecks> = {
  name: 'checks',
  message: z.object({
    model: z.string(),
    passed: z.array(z.object({ url: z.string(), load: loadReport.exactOptional() })),
  }),
}

/** Servers that have passed a health check: the result of one process spares the others a check. */
export class SharedChecks {
  readonly #siblings: Bus | undefined
  readonly #passed = new Map<string, Map<string, LoadReport | undefined>>()
  readonly #listeners = new Map<string, Set<Heard>>()

  /** `siblings`: the other processes of the server. */
  constructor(siblings?: Bus) {
    this.#siblings = siblings
    void siblings?.subscribe(checkTopic, (checks) => this.#hear(checks))
  }

  /** Undefined without other processes. */
  of(model: string): CheckNews | undefined {
    if (this.#siblings === undefined) return undefined
    return {
      passed: (url, load) => this.#note(model, url, load),
      listen: (heard) => {
        const listeners = this.#listeners.get(model) ?? new Set()
        this.#listeners.set(model, listeners.add(heard))
        return () => void listeners.delete(heard)
      },
    }
  }

  #hear({ model, passed }: PassedChecks): undefined {
    for (const heard of this.#listeners.get(model) ?? []) for (const { url, load } of passed) heard(url, load)
  }

  #note(model: string, url: string, load: LoadReport | undefined): void {
    if (this.#passed.size === 0) setTimeout(() => this.#tellAll(), tellEveryMs).unref()
    const loads = this.#passed.get(model) ?? new Map<string, LoadReport | undefined>()
    this.#passed.set(model, loads.set(url, load))
  }

  #tellAll(): void {
    for (const [model, loads] of this.#passed) {
      const passed = Array.from(loads, ([url, load]) => ({ url, ...(load !== undefined && { load }) }))
      void this.#siblings?.publish(checkTopic, { model, passed })
    }
    this.#passed.clear()
  }
}

import { z } from 'zod'
import { type EjectionReason, ejectionReasons } from '../../contract/attempts.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { EjectionNews } from '../../engine/remote/fleet/other-processes.ts'

type Ejection = { readonly model: string; readonly url: string; readonly reason: EjectionReason }

const ejectionTopic: Topic<Ejection> = {
  name: 'ejections',
  message: z.object({ model: z.string(), url: z.string(), reason: z.enum(ejectionReasons) }),
}

/** More ejections in a second are the fault of this process's own network. */
const mostInASecond = 10

/** The servers that one process has ejected: the others then try them with one request, rather than lose several. */
export class SharedEjections {
  readonly #everyone: Bus | undefined
  readonly #listeners = new Map<string, Set<(url: string, reason: EjectionReason) => void>>()
  #told = 0

  /** `everyone`: all processes with the same models. */
  constructor(everyone?: Bus) {
    this.#everyone = everyone
    void everyone?.subscribe(ejectionTopic, ({ model, url, reason }) => {
      for (const heard of this.#listeners.get(model) ?? []) heard(url, reason)
      return undefined
    })
  }

  /** Undefined without other processes. */
  of(model: string): EjectionNews | undefined {
    if (this.#everyone === undefined) return undefined
    return {
      ejected: (url, reason) => this.#tell({ model, url, reason }),
      listen: (heard) => {
        const listeners = this.#listeners.get(model) ?? new Set()
        this.#listeners.set(model, listeners.add(heard))
        return () => void listeners.delete(heard)
      },
    }
  }

  #nextSecond(): void {
    this.#told = 0
  }

  #tell(ejection: Ejection): void {
    if (this.#told === 0) setTimeout(() => this.#nextSecond(), 1000).unref()
    this.#told += 1
    if (this.#told <= mostInASecond) void this.#everyone?.publish(ejectionTopic, ejection)
  }
}

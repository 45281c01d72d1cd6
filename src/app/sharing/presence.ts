import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { Processes } from '../../quota/part.ts'

const sayEveryMs = 15_000
const seenForMs = 60_000

const presenceTopic: Topic<{ readonly id: string; readonly leaves?: boolean | undefined }> = {
  name: 'presence',
  message: z.object({ id: z.string().max(100), leaves: z.boolean().optional() }),
}

/** Which processes share what this one shares: itself, and those that were heard in the last minute in which any was. */
export class Presence {
  readonly #own = randomUUID()
  readonly #bus: Bus | undefined
  readonly #heardAtMs = new Map<string, number>()
  readonly #timer: NodeJS.Timeout | undefined

  constructor(bus?: Bus) {
    this.#bus = bus
    if (bus === undefined) return
    void bus.subscribe(presenceTopic, (message) => this.#hear(message)).then(() => this.#say())
    this.#timer = setInterval(() => this.#say(), sayEveryMs).unref()
  }

  get processes(): Processes {
    return { own: this.#own, all: [this.#own, ...this.#heardAtMs.keys()] }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#bus?.publish(presenceTopic, { id: this.#own, leaves: true })
  }

  #hear({ id, leaves }: { readonly id: string; readonly leaves?: boolean | undefined }): undefined {
    const nowMs = performance.now()
    // Nobody is heard while the way between processes is broken: that ends no process.
    for (const [other, heardAtMs] of this.#heardAtMs) if (heardAtMs < nowMs - seenForMs) this.#heardAtMs.delete(other)
    const isNew = !this.#heardAtMs.has(id)
    if (leaves === true) this.#heardAtMs.delete(id)
    else this.#heardAtMs.set(id, nowMs)
    // One that has just started knows nobody.
    if (isNew && leaves !== true) this.#say()
  }

  #say(): void {
    void this.#bus?.publish(presenceTopic, { id: this.#own })
  }
}

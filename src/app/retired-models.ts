import { setTimeout as pause } from 'node:timers/promises'
import type { RegisteredModel } from './create-model.ts'

/** How often a model in use is looked at. */
const lookEveryMs = 100

/** Models that are no longer served: each is freed as soon as no request uses it. */
export class RetiredModels {
  readonly #kept = new Set<RegisteredModel>()
  readonly #closing = new AbortController()

  /** Resolves when it is freed. */
  add(model: RegisteredModel): Promise<void> {
    const free = async () => {
      if (this.#kept.has(model)) return
      this.#kept.add(model)
      await this.#freeWhenIdle(model)
    }
    // A request that resolved the model before it was retired may still load it again.
    model.engine.onState(({ type }) => {
      if (type === 'ready') void free()
    })
    return free()
  }

  /** Frees all of them at once. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#kept].map(({ engine }) => engine.close()))
  }

  async #freeWhenIdle(model: RegisteredModel): Promise<void> {
    const { signal } = this.#closing
    const isUsed = () => model.scheduler.load.busy + model.scheduler.load.queued > 0
    while (isUsed()) {
      await pause(lookEveryMs, undefined, { ref: false })
      if (signal.aborted) return
    }
    await model.engine.close()
    model.resident?.remove()
    this.#kept.delete(model)
  }
}

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ServerShare } from '../../contract/scheduler.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'

/** More often than a process with batches looks for work. */
const heardForMs = 7000
const tellEveryMs = 200

/** A process that may run batches on the servers of a model, and its interactive requests there. */
type Use = { readonly id: string; readonly model: string; readonly interactive: number }

const useTopic: Topic<Use> = {
  name: 'slots',
  message: z.object({ id: z.string().max(100), model: z.string(), interactive: z.number().int().min(0) }),
}

type Model = {
  interactive: number
  told: number | undefined
  timer: NodeJS.Timeout | undefined
  onLess: () => void
  readonly others: Map<string, { readonly interactive: number; readonly atMs: number }>
}

/**
 * Divides the slots of servers among the processes that run batches there: each alone would fill them all. What callers use that wait for
 * their replies is left out, wherever they ask.
 */
export class SharedSlots {
  readonly #own = randomUUID()
  readonly #everyone: Bus | undefined
  readonly #models = new Map<string, Model>()
  #hasBatches = false

  /** `everyone`: all processes with the same store. */
  constructor(everyone?: Bus) {
    this.#everyone = everyone
    void everyone?.subscribe(useTopic, (use) => this.#hear(use))
  }

  /** Undefined without other processes. */
  of(name: string): ServerShare | undefined {
    if (this.#everyone === undefined) return undefined
    return {
      slotsOf: (serverSlots, interactive) => {
        const model = this.#find(name)
        model.interactive = interactive
        if (this.#hasBatches && interactive !== model.told) this.#tellSoon(name, model)
        return this.#partOf(serverSlots, model)
      },
      onLess: (listener) => {
        this.#find(name).onLess = listener
      },
    }
  }

  /** Called every few seconds. Without batches, processes say nothing. */
  look(hasBatches: boolean): void {
    this.#hasBatches = hasBatches
    if (hasBatches) for (const [name, model] of this.#models) if (model.told !== undefined) this.#tell(name, model)
  }

  #find(name: string): Model {
    const known = this.#models.get(name)
    if (known !== undefined) return known
    const model: Model = { interactive: 0, told: undefined, timer: undefined, onLess: () => undefined, others: new Map() }
    this.#models.set(name, model)
    return model
  }

  #partOf(serverSlots: number, { others }: Model): number {
    const sinceMs = performance.now() - heardForMs
    for (const [id, { atMs }] of others) if (atMs < sinceMs) others.delete(id)
    if (others.size === 0) return serverSlots
    const used = [...others.values()].reduce((sum, { interactive }) => sum + interactive, 0)
    const free = Math.max(0, serverSlots - used)
    const processes = others.size + 1
    const before = [...others.keys()].filter((id) => id < this.#own).length
    const rest = before < free % processes ? 1 : 0
    return Math.max(1, Math.floor(free / processes) + rest)
  }

  #hear({ id, model: name, interactive }: Use): undefined {
    const model = this.#find(name)
    const isNew = !model.others.has(id)
    model.others.set(id, { interactive, atMs: performance.now() })
    // One that has just begun knows nobody.
    if (isNew && this.#hasBatches && model.told !== undefined) this.#tell(name, model)
    model.onLess()
  }

  #tellSoon(name: string, model: Model): void {
    if (model.timer !== undefined) return
    model.timer = setTimeout(() => {
      model.timer = undefined
      if (this.#hasBatches && model.interactive !== model.told) this.#tellSoon(name, model)
    }, tellEveryMs).unref()
    this.#tell(name, model)
  }

  #tell(name: string, model: Model): void {
    model.told = model.interactive
    void this.#everyone?.publish(useTopic, { id: this.#own, model: name, interactive: model.interactive })
  }
}

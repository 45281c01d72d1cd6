/**
 * Takes what happens, in order. A promise says that the reader is behind: nothing more may come before it resolves. Whoever
 * emits stops when it throws or the promise rejects, and fails with the same.
 *
 * Not an iterator: most events pass through all layers in the tick that their bytes arrived in (docs/decisions/0021).
 */
export type Emit<Event> = (event: Event) => Promise<void> | undefined

/** Takes a step for each item, in order. Undefined when no step made it wait. */
export function inTurn<Item>(items: readonly Item[], step: Emit<Item>, from = 0): Promise<void> | undefined {
  for (let index = from; index < items.length; index++) {
    const pending = step(items[index] as Item)
    if (pending !== undefined) return pending.then(() => inTurn(items, step, index + 1))
  }
  return undefined
}

/** Emits, and remembers why the reader wanted no more: for whoever has to tell that from failures of its own. */
export class WatchedEmit<Event> {
  readonly #emit: Emit<Event>
  /** Whether an emitting has failed. */
  hasFailed = false

  constructor(emit: Emit<Event>) {
    this.#emit = emit
  }

  emit(event: Event): Promise<void> | undefined {
    try {
      return this.#emit(event)?.catch(this.#onFailure)
    } catch (error) {
      return this.#onFailure(error)
    }
  }

  readonly #onFailure = (error: unknown): never => {
    this.hasFailed = true
    throw error
  }
}

/** Emits all that an iterator yields; leaves the iteration when the emitting fails. */
export async function emitAll<Event>(events: AsyncIterable<Event>, emit: Emit<Event>): Promise<void> {
  for await (const event of events) {
    const pending = emit(event)
    if (pending !== undefined) await pending
  }
}

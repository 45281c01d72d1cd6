/**
 * Receives events in order. A returned promise is back-pressure: the next event must wait until it resolves. When it throws or
 * rejects, the emitter stops and fails with the same error.
 *
 * Not an iterator, so that most events pass all layers in the tick in which their bytes arrived (docs/inside/decisions/0021).
 */
export type Emit<Event> = (event: Event) => Promise<void> | undefined

/** Runs a step per item, in order. Undefined when no step returned a promise. */
export function inTurn<Item>(items: readonly Item[], step: Emit<Item>, from = 0): Promise<void> | undefined {
  for (let index = from; index < items.length; index++) {
    const pending = step(items[index] as Item)
    if (pending !== undefined) return pending.then(() => inTurn(items, step, index + 1))
  }
  return undefined
}

/** Records whether emitting failed, to distinguish a reader's failure from an engine's. */
export class WatchedEmit<Event> {
  readonly #emit: Emit<Event>
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

/** Emits all events of an iterator; closes the iterator when emitting fails. */
export async function emitAll<Event>(events: AsyncIterable<Event>, emit: Emit<Event>): Promise<void> {
  for await (const event of events) {
    const pending = emit(event)
    if (pending !== undefined) await pending
  }
}

/** Called with the number of tokens that were generated after their request was cancelled. */
export type OnTokensAfterCancel = (count: number) => void

/** Emits an event without waiting for its reader, since its emitter was cancelled. */
export function emitAtOnce<Event>(emit: Emit<Event>, event: Event): void {
  // Nobody is interested in the failure of a reader any more.
  emit(event)?.catch(() => undefined)
}

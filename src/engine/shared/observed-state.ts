import type { EngineState } from '../../contract/engine.ts'

type Listener = (state: EngineState) => void

export class ObservedState {
  #current: EngineState = { type: 'stopped' }
  readonly #listeners = new Set<Listener>()

  get current(): EngineState {
    return this.#current
  }

  set current(state: EngineState) {
    this.#current = state
    for (const listener of this.#listeners) listener(state)
  }

  /** Calls the listener after every change, until the returned function is called. */
  readonly observe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}

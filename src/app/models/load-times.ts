import type { Engine, EngineState } from '../../contract/engine.ts'

/** Measures how long the last load of each engine took. */
export class LoadTimes {
  readonly #now: () => number
  readonly #seconds = new WeakMap<Engine, number | undefined>()

  /** `now`: milliseconds of a monotonic clock. */
  constructor({ now }: { now(): number }) {
    this.#now = now
  }

  /** Watches the engine for as long as it lives. Idempotent. */
  watch(engine: Engine): void {
    if (this.#seconds.has(engine)) return
    this.#seconds.set(engine, undefined)
    let beganMs: number | undefined
    const observe = ({ type }: EngineState) => {
      if (type === 'starting' || type === 'loading') beganMs ??= this.#now()
      else {
        if (type === 'ready' && beganMs !== undefined) this.#seconds.set(engine, (this.#now() - beganMs) / 1000)
        beganMs = undefined
      }
    }
    observe(engine.state)
    engine.onState(observe)
  }

  /** Undefined before the first load has ended. */
  secondsOf(engine: Engine): number | undefined {
    return this.#seconds.get(engine)
  }
}

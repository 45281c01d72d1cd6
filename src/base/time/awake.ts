/** The longest time between two looks at a clock that is waited for. */
const lookEveryMs = 10_000
/** A timer that is later than this shows that the process did not run. */
const asleepAfterMs = 5000

/**
 * A clock that stands while this process does not run, as far as somebody waits for it: the lid of a laptop is closed, a container is paused. Who
 * was waited for was not silent all that time.
 */
export class AwakeClock {
  #asleepMs = 0

  /** Monotonic milliseconds. */
  now(): number {
    return performance.now() - this.#asleepMs
  }

  /** Calls back after this time, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void {
    const dueMs = this.now() + ms
    let timer: NodeJS.Timeout
    const wait = () => {
      const [fromMs, stepMs] = [this.now(), Math.min(dueMs - this.now(), lookEveryMs)]
      timer = setTimeout(() => {
        const passedMs = this.now() - fromMs
        // Nobody knows when in this step the sleep began.
        if (passedMs > stepMs + asleepAfterMs) this.#asleepMs += passedMs
        // A timer may be early by a part of a millisecond.
        if (dueMs - this.now() < 1) callback()
        else wait()
      }, stepMs)
    }
    wait()
    return () => clearTimeout(timer)
  }
}

/** Calls back after a time in which this process runs, unless the returned function is called before. */
export function afterAwake(ms: number, callback: () => void): () => void {
  return new AwakeClock().after(ms, callback)
}

import { setTimeout as pause } from 'node:timers/promises'

/** The first questions about an account are asked as they come. */
const burst = 12
const everyMs = 400

/** Bounds how often a process asks the shared counter about one account. */
export class Pace {
  #left = burst
  #atMs = performance.now()

  /** Whether questions come faster than they may. */
  get isHot(): boolean {
    this.#refill()
    return this.#left < burst / 2
  }

  /** Whether a question may be asked now, which counts it. */
  take(): boolean {
    this.#refill()
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** Resolves when a question may be asked, which counts it. */
  async next(): Promise<void> {
    while (!this.take()) await pause(everyMs * (1 - this.#left))
  }

  #refill(): void {
    const nowMs = performance.now()
    this.#left = Math.min(burst, this.#left + (nowMs - this.#atMs) / everyMs)
    this.#atMs = nowMs
  }
}

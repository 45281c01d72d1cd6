import { setTimeout as pause } from 'node:timers/promises'
import type { KeyLimits, Settlement, Share, Usage, UsageCounter } from '../contract/quota.ts'
import { MinuteCounter } from './minute-counter.ts'
import type { KnowingCounter } from './quotas.ts'

const defaultPatienceMs = 1000
const defaultRestMs = 2000

type SharedCounterOptions = {
  /** The counter of several processes. */
  readonly shared: UsageCounter
  /** The shared counter has failed: until it answers again, this process counts alone, from the last answers. */
  onAway(error: unknown): void
  onBack(): void
  /** How long a request waits for the shared counter. */
  readonly patienceMs?: number
  /** How long a failed counter is left alone, so that not every request waits. */
  readonly restMs?: number
}

/** Counts together with other processes, and alone while that is impossible: limits must not stop a server that could answer. */
export class SharedCounter implements KnowingCounter {
  readonly #options: SharedCounterOptions
  /** The last answers; while the shared counter fails, the counts of this process. */
  readonly #own = new MinuteCounter()
  #isAway = false
  #restsUntilMs = 0

  constructor(options: SharedCounterOptions) {
    this.#options = options
  }

  known(account: string): Usage {
    return this.#own.known(account)
  }

  async read(account: string): Promise<Usage> {
    const answer = await this.#ask((shared) => shared.read(account))
    if (answer !== undefined) this.#own.learn(account, answer.value)
    return this.#own.known(account)
  }

  async take(account: string, share: Share, limits: KeyLimits): Promise<Usage | undefined> {
    const answer = await this.#ask((shared) => shared.take(account, share, limits))
    if (answer === undefined) return this.#own.take(account, share, limits)
    if (answer.value !== undefined) this.#own.learn(account, answer.value)
    return answer.value
  }

  async settle(account: string, settlement: Settlement): Promise<Usage> {
    const usage = await this.#own.settle(account, settlement)
    const answer = await this.#ask((shared) => shared.settle(account, settlement))
    if (answer !== undefined) this.#own.learn(account, answer.value)
    return answer?.value ?? usage
  }

  /** Undefined while the shared counter fails. */
  async #ask<T>(question: (shared: UsageCounter) => Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (performance.now() < this.#restsUntilMs) return undefined
    const { shared, onAway, onBack, patienceMs = defaultPatienceMs, restMs = defaultRestMs } = this.#options
    const giveUp = new AbortController()
    try {
      const late = pause(patienceMs, undefined, { signal: giveUp.signal }).then(() => {
        throw new Error(`no answer in ${patienceMs} ms`)
      })
      const value = await Promise.race([question(shared), late])
      if (this.#isAway) onBack()
      this.#isAway = false
      return { value }
    } catch (error) {
      this.#restsUntilMs = performance.now() + restMs
      if (!this.#isAway) onAway(error)
      this.#isAway = true
      return undefined
    } finally {
      giveUp.abort()
    }
  }
}

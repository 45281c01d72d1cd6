/** `half-open`: the wait is over, and one trial request decides. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** `refused`: nothing listens there, and one failure is enough. `neutral` says nothing about the endpoint. */
export type BreakerResult = 'ok' | 'failed' | 'refused' | 'neutral'

/** The right to one request, until `Breaker.leave`. `isAuxiliary`: not a generation. */
export type BreakerPass = { epoch: number; readonly isAuxiliary: boolean }

export type BreakerOptions = {
  /** From 0 to below 1. */
  random(): number
  readonly failuresToOpen?: number
  readonly openMs?: number
  readonly maxOpenMs?: number
}

/**
 * Keeps requests from an endpoint that fails: closed until several failures in a row, then open for a time that doubles with
 * each failed trial. Times are milliseconds of any monotonic clock, passed in.
 */
export class Breaker {
  readonly #options: Required<BreakerOptions>
  #failures = 0
  #failedChecks = 0
  /** Openings since the last complete success: the exponent of the wait. */
  #openings = 0
  #openUntilMs: number | undefined
  #trial: BreakerPass | undefined
  /** The last generation failed: successful auxiliary requests then prove nothing. */
  #hasFailedGeneration = false
  /** Since it opened, the endpoint was unreachable or failed a check: a good check then shows a change. */
  #wasSeenDown = false
  /** Incremented by each opening and closing: requests that began before say nothing about the time after. */
  #epoch = 0

  constructor({ random, failuresToOpen = 3, openMs = 1000, maxOpenMs = 30_000 }: BreakerOptions) {
    this.#options = { random, failuresToOpen, openMs, maxOpenMs }
  }

  get failures(): number {
    return this.#failures
  }

  state(nowMs: number): BreakerState {
    if (this.#openUntilMs === undefined) return 'closed'
    return nowMs < this.#openUntilMs ? 'open' : 'half-open'
  }

  /** The earliest time at which `enter` may give a pass; while a trial runs, when to ask again. */
  admitsAtMs(nowMs: number): number {
    if (this.#openUntilMs === undefined) return nowMs
    if (this.#trial !== undefined) return nowMs + this.#options.openMs
    return Math.max(nowMs, this.#openUntilMs)
  }

  /** A pass, or undefined when the endpoint may not be used now. Half-open, one at a time. */
  enter(nowMs: number, isAuxiliary = false): BreakerPass | undefined {
    if (this.admitsAtMs(nowMs) > nowMs) return undefined
    const pass = { epoch: this.#epoch, isAuxiliary }
    if (this.#openUntilMs !== undefined) this.#trial = pass
    return pass
  }

  /**
   * The endpoint has begun to reply. A trial closes the breaker here, because its reply may take minutes; until it has ended
   * well, one failure opens the breaker again.
   */
  confirm(pass: BreakerPass): void {
    if (pass !== this.#trial) return
    this.#close()
    this.#failures = this.#options.failuresToOpen - 1
    pass.epoch = this.#epoch
  }

  leave(pass: BreakerPass, result: BreakerResult, nowMs: number): void {
    const isTrial = pass === this.#trial
    if (isTrial) this.#trial = undefined
    // A server that shuts down completes old replies and refuses new requests: old passes must not close the breaker.
    if (pass.epoch !== this.#epoch) return
    if (!pass.isAuxiliary && result !== 'neutral') this.#hasFailedGeneration = result !== 'ok'
    switch (result) {
      case 'ok':
        if (pass.isAuxiliary && this.#hasFailedGeneration) return
        if (isTrial) this.#close()
        this.#failures = 0
        this.#failedChecks = 0
        this.#openings = 0
        return
      case 'failed':
        this.#failures += 1
        if (isTrial || this.#failures >= this.#options.failuresToOpen) this.#open(nowMs)
        return
      case 'refused':
        this.#failures += 1
        this.#open(nowMs)
        this.#wasSeenDown = true
        return
      case 'neutral':
        return
    }
  }

  /**
   * The result of a health check. A good one ends the wait for an endpoint that was down, without closing the breaker; it does
   * not end the wait for one that is up and fails requests. While a trial is silent, a good check counts as the begin of its
   * reply: a long prompt takes minutes, and other requests must not wait for it.
   */
  onCheck(isOk: boolean, nowMs: number): void {
    if (this.#trial !== undefined) {
      if (isOk) this.confirm(this.#trial)
      return
    }
    this.#failedChecks = isOk ? 0 : this.#failedChecks + 1
    const state = this.state(nowMs)
    if (isOk) {
      if (state === 'open' && this.#wasSeenDown) this.#openUntilMs = nowMs
      return
    }
    // Half-open, the check counts as a trial; when open, the current wait is long enough.
    if (state === 'half-open' || (state === 'closed' && this.#failedChecks >= this.#options.failuresToOpen)) this.#open(nowMs)
    if (this.#openUntilMs !== undefined) this.#wasSeenDown = true
  }

  #open(nowMs: number): void {
    const { openMs, maxOpenMs, random } = this.#options
    const waitMs = Math.min(maxOpenMs, openMs * 2 ** Math.min(this.#openings, 30))
    this.#openings += 1
    this.#epoch += 1
    this.#wasSeenDown = false
    // Jitter over the upper half: replicas that failed together are tried apart, but none at once.
    this.#openUntilMs = nowMs + waitMs * (0.5 + random() / 2)
  }

  #close(): void {
    this.#epoch += 1
    this.#openUntilMs = undefined
    this.#trial = undefined
    this.#failures = 0
    this.#failedChecks = 0
  }
}

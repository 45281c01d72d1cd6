/** `half-open`: the wait is over, and one trial decides. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** `refused`: nobody listens there, so there is no use in asking three times. `neutral` says nothing about the endpoint. */
export type BreakerResult = 'ok' | 'failed' | 'refused' | 'neutral'

/** The right to use an endpoint once; `Breaker.leave` takes it back. `isAuxiliary`: for something that is not its work. */
export type BreakerPass = { epoch: number; readonly isAuxiliary: boolean }

export type BreakerOptions = {
  /** From 0 to below 1. */
  random(): number
  readonly failuresToOpen?: number
  readonly openMs?: number
  readonly maxOpenMs?: number
}

/**
 * Keeps traffic from an endpoint that fails: closed until it failed several times in a row, then open for a time that doubles
 * with each failed trial. Time is passed in, in milliseconds of any clock that does not go back.
 */
export class Breaker {
  readonly #options: Required<BreakerOptions>
  #failures = 0
  #failedChecks = 0
  /** How often it opened without a whole success in between: the exponent of the wait. */
  #openings = 0
  #openUntilMs: number | undefined
  #trial: BreakerPass | undefined
  /** The last work failed. That questions are answered is no sign then that it works. */
  #hasFailedWork = false
  /** Since it opened, the endpoint could not be reached or failed a check: a good check then has something to say. */
  #wasSeenDown = false
  /** Grows with each opening and closing: what began before says nothing about the time after. */
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

  /** When `enter` can next give a pass: now, when the wait is over, or, while a trial runs, when it is worth asking again. */
  admitsAtMs(nowMs: number): number {
    if (this.#openUntilMs === undefined) return nowMs
    if (this.#trial !== undefined) return nowMs + this.#options.openMs
    return Math.max(nowMs, this.#openUntilMs)
  }

  /** A pass, or undefined when the endpoint may not be used now. Half-open, it gives one at a time. */
  enter(nowMs: number, isAuxiliary = false): BreakerPass | undefined {
    if (this.admitsAtMs(nowMs) > nowMs) return undefined
    const pass = { epoch: this.#epoch, isAuxiliary }
    if (this.#openUntilMs !== undefined) this.#trial = pass
    return pass
  }

  /**
   * The endpoint has begun to answer. A trial closes the breaker here, because its answer may take minutes; until it has
   * ended well, one failure is enough to open it again.
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
    // A server that is going away ends its old answers well and refuses new ones: old passes must not close what is open.
    if (pass.epoch !== this.#epoch) return
    if (!pass.isAuxiliary && result !== 'neutral') this.#hasFailedWork = result !== 'ok'
    switch (result) {
      case 'ok':
        if (pass.isAuxiliary && this.#hasFailedWork) return
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
   * The result of an active check. A good one ends the wait for an endpoint that was down; it does not close, and it does not
   * end the wait for one that is up and fails to answer requests. While a trial is silent, it stands for the beginning of the
   * answer: a long prompt takes minutes, and the others must not wait for it.
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
    // Half-open, the check took the place of a trial; while it is open, the wait that is running is long enough.
    if (state === 'half-open' || (state === 'closed' && this.#failedChecks >= this.#options.failuresToOpen)) this.#open(nowMs)
    if (this.#openUntilMs !== undefined) this.#wasSeenDown = true
  }

  #open(nowMs: number): void {
    const { openMs, maxOpenMs, random } = this.#options
    const waitMs = Math.min(maxOpenMs, openMs * 2 ** Math.min(this.#openings, 30))
    this.#openings += 1
    this.#epoch += 1
    this.#wasSeenDown = false
    // Not below half: replicas that fell together should come back apart, but none at once.
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

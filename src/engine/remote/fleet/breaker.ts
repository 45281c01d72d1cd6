import type { EjectionReason } from '../../../contract/attempts.ts'

/** `half-open`: the wait is over, and one trial request decides. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * `refused`: nothing listens there, so one failure is enough. `doubtful`: the request may be at fault, until `blame`. `lost`: nothing came
 * of it, which is judged elsewhere unless it was a trial. `neutral` says nothing about the endpoint.
 */
export type BreakerResult = 'ok' | 'failed' | 'refused' | 'doubtful' | 'lost' | 'neutral'

/** Permission for one request, until `Breaker.leave`. `isAuxiliary`: not a generation. `isForced`: granted by `force`. */
export type BreakerPass = {
  epoch: number
  /** The client whose request failed at a router. */
  client?: string
  readonly isAuxiliary: boolean
  readonly isForced?: true
}

export type BreakerOptions = {
  /** From 0 to below 1. */
  random(): number
  readonly failuresToOpen?: number
  readonly openMs?: number
  readonly maxOpenMs?: number
  /**
   * The endpoint is a router: the servers behind it fail requests. The router itself is at fault only if the requests of several clients
   * fail and no client's succeed.
   */
  readonly isRouter?: boolean
  /** Called when the breaker goes from closed to open. */
  onOpen?(reason: EjectionReason): void
}

/** A router is ejected after the requests of this many clients have failed within the time below, without a success in between. */
const failedClientsToOpen = 5
const failingMs = 10_000

/**
 * Keeps requests away from an endpoint that fails. Closed until several failures in a row, then open for a time that doubles with each
 * failed trial. Callers pass the time, in milliseconds of any monotonic clock.
 */
export class Breaker {
  readonly #options: Required<Omit<BreakerOptions, 'onOpen'>> & Pick<BreakerOptions, 'onOpen'>
  /** Clients whose requests failed since the router last answered one, and when the first of them failed. */
  readonly #failedClients = new Set<string>()
  #failingSinceMs: number | undefined
  #failures = 0
  #failedChecks = 0
  /** Openings since the last complete success, each soon after the previous wait: the exponent of the wait. */
  #openings = 0
  #lastWaitEndMs = Number.NEGATIVE_INFINITY
  #openUntilMs: number | undefined
  #trial: BreakerPass | undefined
  /** The last generation failed, so successful auxiliary requests prove nothing. */
  #hasFailedGeneration = false
  /** Since it opened, the endpoint was unreachable or failed a check: a good check then shows a change. */
  #wasSeenDown = false
  /** It opened because the endpoint gave nobody a token while it passed its checks: good checks prove nothing. */
  #isSilent = false
  /** It opened by the word of another process alone, which could not reach the endpoint. */
  #isUnreachedElsewhere = false
  /** Incremented by each opening and closing: requests that began before do not count afterwards. */
  #epoch = 0

  constructor(options: BreakerOptions) {
    this.#options = { failuresToOpen: 3, openMs: 1000, maxOpenMs: 30_000, isRouter: false, ...options }
  }

  get failures(): number {
    return this.#failures
  }

  state(nowMs: number): BreakerState {
    if (this.#openUntilMs === undefined) return 'closed'
    return nowMs < this.#openUntilMs ? 'open' : 'half-open'
  }

  /** The time from which `enter` gives a pass: negative infinity if closed, infinity while a trial runs. */
  get admitsFromMs(): number {
    if (this.#openUntilMs === undefined) return Number.NEGATIVE_INFINITY
    return this.#trial === undefined ? this.#openUntilMs : Number.POSITIVE_INFINITY
  }

  /** The earliest time at which `enter` may give a pass. While a trial runs, the time to ask again. */
  admitsAtMs(nowMs: number): number {
    const fromMs = this.admitsFromMs
    return fromMs === Number.POSITIVE_INFINITY ? nowMs + this.#options.openMs : Math.max(nowMs, fromMs)
  }

  /** A pass, or undefined if the endpoint may not be used now. When half-open, only one pass at a time. */
  enter(nowMs: number, isAuxiliary = false): BreakerPass | undefined {
    if (this.admitsAtMs(nowMs) > nowMs) return undefined
    const pass = { epoch: this.#epoch, isAuxiliary }
    if (this.#openUntilMs !== undefined) this.#trial = pass
    return pass
  }

  /**
   * A pass even if the breaker is not closed, for a request that has no other endpoint: the failures of others should not fail it. Its
   * success closes the breaker; its failure does not prolong the wait.
   */
  force(isAuxiliary = false): BreakerPass {
    return { epoch: this.#epoch, isAuxiliary, isForced: true }
  }

  /**
   * To be called when the endpoint begins to reply. A trial closes the breaker here, because its reply may take minutes; until it has ended
   * well, one failure reopens the breaker. Returns whether the breaker has closed.
   */
  confirm(pass: BreakerPass): boolean {
    if (!this.#isTrial(pass)) return false
    this.#close()
    this.#failures = this.#options.failuresToOpen - 1
    pass.epoch = this.#epoch
    return true
  }

  /**
   * The request of a pass has ended. The first case that fits decides:
   *
   * 1. It began before the breaker last opened or closed: it says nothing about the time after. A server that shuts down completes old
   * replies and refuses new requests, and must not close the breaker. 2. A forced trial without success: it does not prolong the wait. 3.
   * `ok`, but only of an auxiliary request while generations fail: it proves nothing. 4. `ok`: all failures are forgotten, and a trial
   * closes the breaker. 5. `failed`: the last of several failures in a row, or a trial, opens it. 6. `refused`: it opens immediately. 7.
   * `doubtful`, at a router: it opens by the rule for routers. 8. `doubtful`, of a trial: it has not shown that the endpoint is back. The
   * wait begins again, and is no longer. 9. `lost`, of a trial: it opens, or the next request would be lost as well. 10. Otherwise
   * nothing happens: `blame` may follow a doubtful failure.
   */
  leave(pass: BreakerPass, result: BreakerResult, nowMs: number): void {
    const isTrial = this.#isTrial(pass)
    if (pass === this.#trial) this.#trial = undefined
    if (pass.epoch !== this.#epoch) return // Case 1
    if (isTrial && pass.isForced && result !== 'ok') return // Case 2
    if (!pass.isAuxiliary && result !== 'neutral' && result !== 'lost' && result !== 'doubtful')
      this.#hasFailedGeneration = result !== 'ok'
    switch (result) {
      case 'ok':
        if (pass.isAuxiliary && (this.#hasFailedGeneration || this.#failingSinceMs !== undefined)) return // Case 3
        // Case 4
        this.#failedClients.clear()
        this.#failingSinceMs = undefined
        if (isTrial) this.#close()
        this.#failures = 0
        this.#failedChecks = 0
        this.#openings = 0
        return
      case 'failed':
        this.#failures += 1
        // Case 5
        if (isTrial || this.#failures >= this.#options.failuresToOpen) this.#open(nowMs, 'failures')
        return
      case 'refused':
        // Case 6
        this.#failures += 1
        this.#open(nowMs, 'unreachable')
        this.#wasSeenDown = true
        return
      case 'doubtful':
        if (this.#options.isRouter)
          this.#onFailedClient(pass.client, isTrial, nowMs) // Case 7
        else if (isTrial) {
          // Case 8
          this.#wait(nowMs, this.#openings - 1)
          pass.epoch = this.#epoch
        }
        return
      case 'lost':
        if (isTrial) this.#open(nowMs, this.#isSilent ? 'silent' : 'failures') // Case 9
        return
      case 'neutral':
        return // Case 10
    }
  }

  /** A doubtful failure was the endpoint's fault: another endpoint has answered the same request. Ignored for a router. */
  blame(pass: BreakerPass, nowMs: number): void {
    if (pass.epoch !== this.#epoch || this.#options.isRouter) return
    if (!pass.isAuxiliary) this.#hasFailedGeneration = true
    this.#failures += 1
    if (this.#openUntilMs !== undefined || this.#failures >= this.#options.failuresToOpen) this.#open(nowMs, 'failures')
  }

  /** The endpoint gives nobody a token, although it passes its checks. Opens the breaker, or ends its trial. */
  onSilent(nowMs: number): void {
    if (this.state(nowMs) !== 'open') this.#open(nowMs, 'silent')
  }

  /** Another process has ejected the endpoint: the next request is a trial. */
  onEjectedElsewhere(reason: EjectionReason, nowMs: number): void {
    if (this.#openUntilMs !== undefined) return
    this.#epoch += 1
    this.#openUntilMs = nowMs
    this.#isSilent = reason === 'silent'
    this.#isUnreachedElsewhere = reason === 'unreachable' || reason === 'health-check'
  }

  /**
   * The result of a health check. The first case that fits decides:
   *
   * 1. A trial runs: a good check counts as the begin of its reply, unless the endpoint was silent. A long prompt takes minutes, and other
   *    requests must not wait for it. A failed one says nothing.
   * 2. A good check of an endpoint that only another process could not reach closes the breaker: the way to it differs.
   * 3. A good check of an endpoint that was down ends the wait, without closing the breaker. It does not end the wait for one that is up
   *    and fails requests.
   * 4. A failed check while half-open counts as a trial, and several in a row open a closed breaker.
   * 5. A failed check while open changes nothing but `#wasSeenDown`: the current wait is long enough.
   */
  onCheck(isOk: boolean, nowMs: number): void {
    if (this.#trial !== undefined) {
      if (isOk && !this.#isSilent) this.confirm(this.#trial) // Case 1
      return
    }
    this.#failedChecks = isOk ? 0 : this.#failedChecks + 1
    const state = this.state(nowMs)
    if (isOk) {
      if (this.#isUnreachedElsewhere)
        this.#close() // Case 2
      else if (state === 'open' && this.#wasSeenDown) this.#openUntilMs = nowMs // Case 3
      return
    }
    // Case 4
    if (state === 'half-open' || (state === 'closed' && this.#failedChecks >= this.#options.failuresToOpen))
      this.#open(nowMs, 'health-check')
    if (this.#openUntilMs !== undefined) this.#wasSeenDown = true // Cases 4 and 5
  }

  #onFailedClient(client: string | undefined, isTrial: boolean, nowMs: number): void {
    this.#failingSinceMs ??= nowMs
    if (client !== undefined && this.#failedClients.size < failedClientsToOpen) this.#failedClients.add(client)
    const failsAll = this.#failedClients.size >= failedClientsToOpen && nowMs - this.#failingSinceMs >= failingMs
    if (isTrial || failsAll) this.#open(nowMs, 'failures')
  }

  /** Whether the pass shows if the endpoint is back. */
  #isTrial(pass: BreakerPass): boolean {
    if (this.#openUntilMs === undefined) return false
    return pass === this.#trial || (pass.isForced === true && pass.epoch === this.#epoch)
  }

  #open(nowMs: number, reason: EjectionReason): void {
    if (this.#openUntilMs === undefined) this.#options.onOpen?.(reason)
    // An old failure says nothing about how long this one lasts.
    if (nowMs - this.#lastWaitEndMs > this.#options.maxOpenMs) this.#openings = 0
    this.#wait(nowMs, this.#openings)
    this.#openings += 1
    this.#wasSeenDown = false
    this.#isUnreachedElsewhere = false
    this.#isSilent = reason === 'silent'
  }

  #wait(nowMs: number, doublings: number): void {
    const { openMs, maxOpenMs, random } = this.#options
    const waitMs = Math.min(maxOpenMs, openMs * 2 ** Math.min(doublings, 30))
    this.#epoch += 1
    // Jitter over the upper half: replicas that failed together are tried at different times, but never immediately.
    this.#openUntilMs = nowMs + waitMs * (0.5 + random() / 2)
    this.#lastWaitEndMs = this.#openUntilMs
  }

  #close(): void {
    this.#epoch += 1
    this.#openUntilMs = undefined
    this.#trial = undefined
    this.#failures = 0
    this.#failedChecks = 0
    this.#isSilent = false
    this.#isUnreachedElsewhere = false
  }
}

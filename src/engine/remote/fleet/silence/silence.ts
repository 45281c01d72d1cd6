import type { Endpoint } from '../../transport/client.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { CheckLatency } from './check-latency.ts'
import { FirstTokenTimes } from './first-token-times.ts'

/** A request that a replica answers. */
export type SilentRequest = {
  readonly endpoint: Endpoint
  /** Absent if the time to the first token says nothing about other requests. */
  readonly promptTokens?: number | undefined
  /** Bytes received so far: a sign of life, even if only the progress of the prompt. */
  received(): number
  /**
   * Whether another replica may take it. `isDead`: its replica has been unreachable for long, so it may move even if it has moved before.
   */
  canMove(isDead: boolean): boolean
  /** Ends the attempt with this error. */
  end(error: UpstreamError): void
}

/** To be called at the first token and at the end of the attempt. */
export type WatchedRequest = { begun(): void; ended(): void }

type SilenceOptions = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  isEjected(replicaId: string): boolean
  /** A health check. Undefined if it was interrupted. */
  check(endpoint: Endpoint): Promise<boolean | undefined>
  /** Reports the result of such a check, to be passed to `onCheck` like those of other checks. */
  report(replicaId: string, isOk: boolean): void
  onMove(endpoint: Endpoint, waitedMs: number): void
  /** Called at each tick for a replica that a request was moved away from, until it answers a check or is ejected. */
  onDoubt(replicaId: string): void
}

type Waiting = SilentRequest & {
  readonly beganMs: number
  /** The first token has arrived. */
  hasToken: boolean
  seenBytes: number
  /** When bytes were last seen to arrive. */
  progressMs: number | undefined
  /** Its replica has left the fleet. */
  hasLeft: boolean
}

/** A replica with requests, or in doubt. */
type Watched = {
  readonly endpoint: Endpoint
  readonly requests: Set<Waiting>
  /** When it last failed a check or refused a connection, unless it has replied since. */
  downMs: number | undefined
  /** When it last passed a check or replied. */
  aliveMs: number
  /** When its last check began. */
  checkedMs: number
  /** Ticks since the first check after a sign of life began. Undefined if there was no such check. */
  silentTicks: number | undefined
  /** A request was moved away from it: it is checked until it is alive or ejected, even without requests. */
  isInDoubt: boolean
}

/** The interval of `tick` while requests are watched. */
export const silenceTickMs = 250
const checkEveryMs = 1000

/** A reply that made progress is left alone until no bytes have come for this time. */
const progressHoldsMs = 10_000
/** A reply that has begun and cannot be moved is given up when no bytes have come for this time. */
const givenUpMs = 60_000
/** A request that has moved before moves again after waiting this long on an ejected replica. */
const deadAfterMs = 30_000
/** If everything is silent, the network is at fault, and more checks would not help. */
const maxChecks = 64
/** Assumed before the first sample. */
const usualFirstTokenMs = 2500
/** The usual pause between two pieces of a reply, and the usual time of a reply that is not streamed. */
const usualPauseMs = 5000

type Situation = {
  readonly nowMs: number
  readonly isEjected: boolean
  readonly downMs: number | undefined
  /** A check has waited longer than checks take, and nothing else has come from the replica. */
  readonly isCheckOverdue: boolean
  /** The 95th percentile of the time to the first token of such requests. */
  readonly p95Ms: number
}

/**
 * Whether a request is lost, and should move to another replica. The first case that fits decides:
 *
 * 1. Bytes have come lately: no.
 * 2. Its replica has left the fleet, and the first token is missing: yes.
 * 3. Its replica cannot be reached, and is ejected: yes, even if the reply has begun.
 * 4. The reply has begun: no.
 * 5. Its replica has failed a check, or has one that is overdue, and the request has waited twice the usual time: yes.
 * 6. Otherwise no: a slow prompt on a replica that answers its checks is left alone.
 */
export function isLost(request: Pick<Waiting, 'beganMs' | 'hasToken' | 'progressMs' | 'hasLeft'>, situation: Situation): boolean {
  const { beganMs, hasToken, progressMs, hasLeft } = request
  const { nowMs, isEjected, downMs, isCheckOverdue, p95Ms } = situation
  if (progressMs !== undefined && nowMs - progressMs < progressHoldsMs) return false // Case 1
  if (hasLeft && !hasToken) return true // Case 2
  const isDown = downMs !== undefined && downMs >= beganMs
  if (isDown && isEjected) return true // Case 3
  if (hasToken) return false // Case 4
  return (isDown || isCheckOverdue) && nowMs - (progressMs ?? beganMs) >= 2 * p95Ms // Cases 5 and 6
}

/**
 * Watches requests, and learns how long their first tokens take. While a request waits longer than 95 % of its size, or its reply has
 * stopped, its replica is checked every second. If the replica is lost, the request moves.
 */
export class Silence {
  readonly #options: SilenceOptions
  readonly #times = new FirstTokenTimes()
  readonly #latency = new CheckLatency()
  readonly #watched = new Map<string, Watched>()
  #runningChecks = 0

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  /** Nothing is watched, so no ticks are needed. */
  get isIdle(): boolean {
    return this.#watched.size === 0
  }

  watch(request: SilentRequest): WatchedRequest {
    const { endpoint, promptTokens } = request
    const beganMs = this.#options.now()
    const waiting: Waiting = { beganMs, hasToken: false, seenBytes: 0, progressMs: undefined, hasLeft: false, ...request }
    const watched = this.#watched.get(endpoint.id) ?? newlyWatched(endpoint)
    this.#watched.set(endpoint.id, watched)
    watched.requests.add(waiting)
    return {
      begun: () => {
        if (waiting.hasToken || !watched.requests.has(waiting)) return
        waiting.hasToken = true
        this.#onAlive(watched)
        waiting.progressMs = watched.aliveMs
        if (promptTokens !== undefined) this.#times.learn(promptTokens, watched.aliveMs - beganMs)
      },
      ended: () => this.#end(waiting),
    }
  }

  /** To be called every `silenceTickMs`. */
  tick(): void {
    const nowMs = this.#options.now()
    for (const [replicaId, watched] of this.#watched) {
      for (const waiting of watched.requests) {
        const bytes = waiting.received()
        if (bytes === waiting.seenBytes) continue
        waiting.seenBytes = bytes
        waiting.progressMs = nowMs
        this.#onAlive(watched)
      }
      // Counted, not measured: a pause of this process is not the replica's.
      if (watched.silentTicks !== undefined) watched.silentTicks += 1
      this.#moveLost(replicaId)
      if (watched.isInDoubt) this.#onDoubt(watched)
      const isDue = nowMs - watched.checkedMs >= checkEveryMs && this.#runningChecks < maxChecks
      if (isDue && (watched.isInDoubt || this.#isSuspect(watched))) void this.#check(watched)
    }
  }

  /** Records the duration of an answered check. */
  learnCheck(ms: number): void {
    this.#latency.learn(ms)
  }

  /** Records the result of a health check. */
  onCheck(replicaId: string, isOk: boolean): void {
    const watched = this.#watched.get(replicaId)
    if (!isOk) this.onRefused(replicaId)
    else if (watched !== undefined) this.#onAlive(watched)
  }

  /** Nothing listens at the replica's address. */
  onRefused(replicaId: string): void {
    const watched = this.#watched.get(replicaId)
    if (watched === undefined) return
    watched.downMs = this.#options.now()
    this.#moveLost(replicaId)
  }

  /** The replica has left the fleet. */
  onLeft(replicaId: string): void {
    const watched = this.#watched.get(replicaId)
    if (watched === undefined) return
    for (const waiting of watched.requests) waiting.hasLeft = true
    this.#moveLost(replicaId)
    this.#settle(watched)
  }

  #onAlive(watched: Watched): void {
    watched.aliveMs = this.#options.now()
    watched.downMs = undefined
    watched.silentTicks = undefined
    this.#settle(watched)
  }

  #onDoubt(watched: Watched): void {
    const { isEjected, onDoubt } = this.#options
    const { id } = watched.endpoint
    if (isEjected(id)) this.#settle(watched)
    else onDoubt(id)
  }

  /** The replica is no longer in doubt. */
  #settle(watched: Watched): void {
    watched.isInDoubt = false
    this.#forgetUnused(watched)
  }

  #forgetUnused({ endpoint: { id }, requests, isInDoubt }: Watched): void {
    if (requests.size === 0 && !isInDoubt) this.#watched.delete(id)
  }

  #end(waiting: Waiting): void {
    const watched = this.#watched.get(waiting.endpoint.id)
    if (watched?.requests.delete(waiting) === true) this.#forgetUnused(watched)
  }

  /**
   * What becomes of lost requests:
   *
   * 1. Another replica may take it: it moves. One that has moved before may do so only from a replica that has been dead for long.
   * 2. Its reply has begun, and has not continued for long: it ends with an error.
   * 3. Otherwise it waits.
   */
  #moveLost(replicaId: string): void {
    const watched = this.#watched.get(replicaId)
    if (watched === undefined) return
    const { requests, downMs, silentTicks = 0 } = watched
    const { now, isEjected, onMove } = this.#options
    const nowMs = now()
    const isCheckOverdue = silentTicks * silenceTickMs >= this.#latency.overdueMs
    const state = { nowMs, downMs, isCheckOverdue, isEjected: downMs !== undefined && isEjected(replicaId) }
    for (const waiting of requests) {
      if (downMs === undefined && !isCheckOverdue && !waiting.hasLeft) continue
      if (!isLost(waiting, { p95Ms: this.#p95Of(waiting), ...state })) continue
      const isMove = waiting.canMove(state.isEjected && nowMs - (waiting.progressMs ?? waiting.beganMs) >= deadAfterMs)
      if (!isMove && !isGivenUp(waiting, nowMs)) continue // Case 3
      watched.isInDoubt = !waiting.hasLeft
      this.#end(waiting)
      if (isMove) onMove(waiting.endpoint, nowMs - waiting.beganMs)
      waiting.end(isMove ? fellSilent() : stoppedReplying()) // Cases 1 and 2
    }
  }

  #isSuspect({ requests, aliveMs }: Watched): boolean {
    const nowMs = this.#options.now()
    if (nowMs - aliveMs < silenceTickMs) return false
    for (const waiting of requests) {
      const usualMs = waiting.hasToken ? usualPauseMs : Math.max(silenceTickMs, this.#p95Of(waiting))
      if (nowMs - (waiting.progressMs ?? waiting.beganMs) > usualMs) return true
    }
    return false
  }

  #p95Of({ promptTokens }: Waiting): number {
    return promptTokens === undefined ? usualPauseMs : (this.#times.p95(promptTokens) ?? usualFirstTokenMs)
  }

  /** Checks begin every second, even if earlier ones are still running: three seconds of silence are three failures. */
  async #check(watched: Watched): Promise<void> {
    const { endpoint } = watched
    const beganMs = this.#options.now()
    watched.checkedMs = beganMs
    watched.silentTicks ??= 0
    this.#runningChecks += 1
    const isOk = await this.#options.check(endpoint)
    this.#runningChecks -= 1
    // Without a silent request or a doubt, the result is not needed.
    if (isOk === undefined || this.#watched.get(endpoint.id) !== watched) return
    // A sign of life after its start outweighs a failed check.
    if (isOk || watched.aliveMs < beganMs) this.#options.report(endpoint.id, isOk)
  }
}

/** Whether a lost request that no other replica can take is given up. */
function isGivenUp({ hasToken, progressMs = 0 }: Waiting, nowMs: number): boolean {
  return hasToken && nowMs - progressMs >= givenUpMs
}

function fellSilent(): UpstreamError {
  return new UpstreamError({ type: 'silent' }, 'the server behind this model fell silent, and does not answer its health checks')
}

function stoppedReplying(): UpstreamError {
  const message = 'the server behind this model stopped in the middle of its answer, and does not answer its health checks'
  return new UpstreamError({ type: 'truncated' }, message)
}

function newlyWatched(endpoint: Endpoint): Watched {
  const never = Number.NEGATIVE_INFINITY
  return {
    endpoint,
    requests: new Set(),
    downMs: undefined,
    aliveMs: never,
    checkedMs: never,
    silentTicks: undefined,
    isInDoubt: false,
  }
}

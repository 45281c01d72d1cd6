import type { Endpoint } from '../../transport/client.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { FirstTokenTimes } from './first-token-times.ts'

/** A request whose first token a replica has not sent yet. */
export type SilentRequest = {
  readonly endpoint: Endpoint
  /** Absent where the time to the first token says nothing about other requests. */
  readonly promptTokens?: number | undefined
  /** Bytes of the reply so far: a sign of life, such as the progress of the prompt. */
  received(): number
  /** Another replica may take it. */
  canMove(): boolean
  /** Ends the attempt with this error. */
  move(error: UpstreamError): void
}

/** `begun` with the first token, `ended` with the attempt: each ends the watch. */
export type WatchedRequest = { begun(): void; ended(): void }

type SilenceOptions = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  isEjected(replicaId: string): boolean
  /** A health check; undefined when it was interrupted. */
  check(endpoint: Endpoint): Promise<boolean | undefined>
  /** The result of such a check, to be passed on to `onCheck` with those of other checks. */
  report(replicaId: string, isOk: boolean): void
  onMove(endpoint: Endpoint, waitedMs: number): void
}

type Waiting = SilentRequest & {
  readonly beganMs: number
  seenBytes: number
  /** When bytes were last seen to have come. */
  progressMs: number | undefined
  /** Its replica has left the fleet. */
  hasLeft: boolean
}

/** A replica with silent requests, for as long as it has some. */
type Watched = {
  readonly endpoint: Endpoint
  readonly requests: Set<Waiting>
  /** When it last failed a check or refused a connection, if it has not replied since. */
  downMs: number | undefined
  /** When it last passed a check or replied. */
  aliveMs: number
}

/** A reply that made progress is left alone until its bytes have stopped for so long. */
const progressHoldsMs = 10_000
const leastPatienceMs = 10_000
/** Before anything was learned. */
const usualFirstTokenMs = leastPatienceMs / 2

type Situation = {
  readonly nowMs: number
  readonly isEjected: boolean
  readonly downMs: number | undefined
  /** Within which 95 % of such requests have had their first token. */
  readonly p95Ms: number
}

/**
 * Whether a request is to be moved to another replica: at once when its replica leaves, or is ejected because it cannot be reached;
 * when one check has failed, after twice the usual time. A prompt that is slow on a replica that answers its checks is left alone,
 * and so is one that makes progress.
 */
export function isLost(request: Pick<Waiting, 'beganMs' | 'progressMs' | 'hasLeft'>, situation: Situation): boolean {
  const { beganMs, progressMs, hasLeft } = request
  const { nowMs, isEjected, downMs, p95Ms } = situation
  if (progressMs !== undefined && nowMs - progressMs < progressHoldsMs) return false
  if (hasLeft) return true
  if (downMs === undefined || downMs < beganMs) return false
  return isEjected || nowMs - (progressMs ?? beganMs) >= Math.max(leastPatienceMs, 2 * p95Ms)
}

/**
 * Watches requests until their first token, and learns how long that takes. While one waits longer than 95 % of its size, its
 * replica is checked every second; when it is lost, it is moved.
 */
export class Silence {
  readonly #options: SilenceOptions
  readonly #times = new FirstTokenTimes()
  readonly #watched = new Map<string, Watched>()

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  watch(request: SilentRequest): WatchedRequest {
    const { endpoint, promptTokens } = request
    const beganMs = this.#options.now()
    const waiting = { beganMs, seenBytes: 0, progressMs: undefined, hasLeft: false, ...request }
    const watched = this.#watched.get(endpoint.id) ?? newlyWatched(endpoint)
    this.#watched.set(endpoint.id, watched)
    watched.requests.add(waiting)
    return {
      begun: () => {
        if (!this.#end(waiting)) return
        this.#onAlive(watched)
        if (promptTokens !== undefined) this.#times.learn(promptTokens, watched.aliveMs - beganMs)
      },
      ended: () => void this.#end(waiting),
    }
  }

  /** To be called every second. */
  tick(): void {
    const nowMs = this.#options.now()
    for (const [replicaId, watched] of this.#watched) {
      for (const waiting of watched.requests) {
        const bytes = waiting.received()
        if (bytes > waiting.seenBytes) waiting.progressMs = nowMs
        waiting.seenBytes = bytes
      }
      this.#moveLost(replicaId)
      if (this.#isSuspect(watched)) void this.#check(watched)
    }
  }

  /** The result of a health check. */
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

  /** The replica is no longer one of the fleet. */
  onLeft(replicaId: string): void {
    for (const waiting of this.#watched.get(replicaId)?.requests ?? []) waiting.hasLeft = true
    this.#moveLost(replicaId)
  }

  #onAlive(watched: Watched): void {
    watched.aliveMs = this.#options.now()
    watched.downMs = undefined
  }

  /** False when the watch had ended. */
  #end(waiting: Waiting): boolean {
    const { id } = waiting.endpoint
    const watched = this.#watched.get(id)
    if (watched?.requests.delete(waiting) !== true) return false
    if (watched.requests.size === 0) this.#watched.delete(id)
    return true
  }

  #moveLost(replicaId: string): void {
    const { requests, downMs } = this.#watched.get(replicaId) ?? {}
    const { now, isEjected, onMove } = this.#options
    const nowMs = now()
    const state = { nowMs, downMs, isEjected: downMs !== undefined && isEjected(replicaId) }
    for (const waiting of requests ?? []) {
      if (!isLost(waiting, { p95Ms: this.#p95Of(waiting), ...state }) || !waiting.canMove()) continue
      this.#end(waiting)
      onMove(waiting.endpoint, nowMs - waiting.beganMs)
      waiting.move(new UpstreamError({ type: 'silent' }, 'the server behind this model was lost before it began to answer'))
    }
  }

  #isSuspect({ requests }: Watched): boolean {
    const nowMs = this.#options.now()
    for (const waiting of requests) {
      if (nowMs - (waiting.progressMs ?? waiting.beganMs) > this.#p95Of(waiting)) return true
    }
    return false
  }

  #p95Of({ promptTokens }: Waiting): number {
    return (promptTokens === undefined ? undefined : this.#times.p95(promptTokens)) ?? usualFirstTokenMs
  }

  /** Checks begin every second, whether or not those before have ended: three seconds of silence are three failures. */
  async #check(watched: Watched): Promise<void> {
    const { endpoint } = watched
    const beganMs = this.#options.now()
    const isOk = await this.#options.check(endpoint)
    // Without a silent request, nobody asks.
    if (isOk === undefined || this.#watched.get(endpoint.id) !== watched) return
    // A sign of life after its start says more than a failed check.
    if (isOk || watched.aliveMs < beganMs) this.#options.report(endpoint.id, isOk)
  }
}

function newlyWatched(endpoint: Endpoint): Watched {
  return { endpoint, requests: new Set(), downMs: undefined, aliveMs: Number.NEGATIVE_INFINITY }
}

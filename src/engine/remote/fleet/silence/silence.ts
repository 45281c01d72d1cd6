import type { Endpoint } from '../../transport/client.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { FirstTokenTimes } from './first-token-times.ts'

/** A request that a replica answers. */
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

/** `begun` with the first token, `ended` with the attempt. */
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
  /** The first token is here. */
  hasToken: boolean
  seenBytes: number
  /** When bytes were last seen to have come. */
  progressMs: number | undefined
  /** Its replica has left the fleet. */
  hasLeft: boolean
}

/** A replica with requests, for as long as it has some. */
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
/** Where everything is silent, the network is at fault, and more checks would not help. */
const maxChecks = 64
/** Before anything was learned, and between two pieces of a reply. */
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
 * and so is one that makes progress. A reply that has begun is lost with an ejected replica only, after a while without a byte.
 */
export function isLost(request: Pick<Waiting, 'beganMs' | 'hasToken' | 'progressMs' | 'hasLeft'>, situation: Situation): boolean {
  const { beganMs, hasToken, progressMs, hasLeft } = request
  const { nowMs, isEjected, downMs, p95Ms } = situation
  if (progressMs !== undefined && nowMs - progressMs < progressHoldsMs) return false
  if (hasLeft && !hasToken) return true
  if (downMs === undefined || downMs < beganMs) return false
  if (isEjected || hasToken) return isEjected
  return nowMs - (progressMs ?? beganMs) >= Math.max(leastPatienceMs, 2 * p95Ms)
}

/**
 * Watches requests, and learns how long their first tokens take. While one waits longer than 95 % of its size, or its reply has stopped,
 * its replica is checked every second; when it is lost, it is moved.
 */
export class Silence {
  readonly #options: SilenceOptions
  readonly #times = new FirstTokenTimes()
  readonly #watched = new Map<string, Watched>()
  #runningChecks = 0

  constructor(options: SilenceOptions) {
    this.#options = options
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

  /** To be called every second. */
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
      this.#moveLost(replicaId)
      if (this.#runningChecks < maxChecks && this.#isSuspect(watched)) void this.#check(watched)
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

  #end(waiting: Waiting): void {
    const { id } = waiting.endpoint
    const watched = this.#watched.get(id)
    if (watched?.requests.delete(waiting) === true && watched.requests.size === 0) this.#watched.delete(id)
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
      waiting.move(
        new UpstreamError({ type: 'silent' }, 'the server behind this model fell silent, and does not answer its health checks'),
      )
    }
  }

  #isSuspect({ requests }: Watched): boolean {
    const nowMs = this.#options.now()
    for (const waiting of requests) {
      const usualMs = waiting.hasToken ? usualFirstTokenMs : this.#p95Of(waiting)
      if (nowMs - (waiting.progressMs ?? waiting.beganMs) > usualMs) return true
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
    this.#runningChecks += 1
    const isOk = await this.#options.check(endpoint)
    this.#runningChecks -= 1
    // Without a silent request, nobody asks.
    if (isOk === undefined || this.#watched.get(endpoint.id) !== watched) return
    // A sign of life after its start says more than a failed check.
    if (isOk || watched.aliveMs < beganMs) this.#options.report(endpoint.id, isOk)
  }
}

function newlyWatched(endpoint: Endpoint): Watched {
  return { endpoint, requests: new Set(), downMs: undefined, aliveMs: Number.NEGATIVE_INFINITY }
}

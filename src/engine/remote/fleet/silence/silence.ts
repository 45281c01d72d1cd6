import type { Endpoint } from '../../transport/client.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { CheckLatency } from './check-latency.ts'
import { FirstTokenTimes } from './first-token-times.ts'
import { batching, isLost, type Patience, patienceMs, unbatched, type Waited } from './lost.ts'
import { SignsOfLife } from './signs-of-life.ts'

/** A request that a replica answers. */
export type SilentRequest = {
  readonly endpoint: Endpoint
  /** Absent if the time to the first token says nothing about other requests. */
  readonly promptTokens?: number | undefined
  /** What is asked for instead of text. Its times say nothing about other requests; `promptTokens` is its size in any unit. */
  readonly call?: string | undefined
  /** Those of them that the replica probably has in its cache. Absent: 0. */
  readonly cachedTokens?: number
  /** The replica reads prompts beside generating. */
  readonly isBatching?: boolean
  /** Bytes received so far: a sign of life, even if only the progress of the prompt. */
  received(): number
  /**
   * Whether another replica may take it. `isDead`: its replica has been unreachable for long, so it may move even if it has moved before.
   */
  canMove(isDead: boolean): boolean
  end(error: UpstreamError): void
}

/** Who stopped a request: its caller, or a limit of time. */
export type Stop = 'caller' | 'limit'

export type WatchedRequest = {
  /** To be called at the first token. */
  begun(): void
  /**
   * To be called at the end of the attempt. Returns whether the replica has lost the request: it should not be the first to get it when it
   * is sent again.
   */
  ended(stop?: Stop): boolean
}

/** How silent requests are watched. */
export type SilenceOptions = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  isEjected(replicaId: string): boolean
  /** A health check. Undefined if it was interrupted. */
  check(endpoint: Endpoint): Promise<boolean | undefined>
  /** The numbers of the replica's engine that change while that works. Undefined: they are not known. */
  readWork(endpoint: Endpoint): Promise<string | undefined>
  /** Reports the result of such a check, to be passed to `onCheck` like those of other checks. */
  report(replicaId: string, isOk: boolean): void
  onMove(endpoint: Endpoint, waitedMs: number): void
  /** Called when a replica has lost several requests in a row while others gave tokens, and at each further one. */
  onMute(replicaId: string): void
  /** Called at each tick for a replica that a request was moved away from, until it answers a check or is ejected. */
  onDoubt(replicaId: string): void
  /** A reply that has begun moves when no bytes have come for this time. */
  readonly stalledMs: number
}

type Waiting = SilentRequest & {
  -readonly [Key in keyof Waited]: Waited[Key]
} & {
  seenBytes: number
  /** It has been counted as lost by its replica. */
  isCounted: boolean
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
/** A caller who waits longer than this for a replica that gives nobody anything has given it up. */
const callers: Patience = batching
/** This many lost requests in a row show that a replica gives nobody a token. */
const lossesOfMute = 2

/**
 * Watches requests, and learns how long their first tokens take. While a request waits longer than 95 % of its size, or its reply has
 * stopped, its replica is checked every second. If the replica is lost, the request moves.
 */
export class Silence {
  readonly #options: SilenceOptions
  /** By what is asked for. */
  readonly #times = new Map<string | undefined, FirstTokenTimes>()
  readonly #latency = new CheckLatency()
  readonly #signs = new SignsOfLife()
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
    const { endpoint, promptTokens, call } = request
    const beganMs = this.#options.now()
    const waiting: Waiting = {
      beganMs,
      hasToken: false,
      seenBytes: 0,
      progressMs: undefined,
      hasLeft: false,
      isCounted: false,
      ...request,
    }
    const watched = this.#watched.get(endpoint.id) ?? newlyWatched(endpoint)
    this.#watched.set(endpoint.id, watched)
    watched.requests.add(waiting)
    return {
      begun: () => {
        if (waiting.hasToken || !watched.requests.has(waiting)) return
        waiting.hasToken = true
        this.#onAlive(watched)
        waiting.progressMs = watched.aliveMs
        this.#signs.noteToken(endpoint.id, watched.aliveMs)
        if (promptTokens === undefined) return
        const times = this.#times.get(call) ?? new FirstTokenTimes()
        this.#times.set(call, times)
        times.learn(unreadTokens(request), watched.aliveMs - beganMs)
      },
      ended: (stop) => {
        const isLost = stop !== undefined && this.#isLostBy(waiting, stop)
        // One that has moved is not watched any more.
        if (stop === undefined && waiting.hasToken && watched.requests.has(waiting)) this.#signs.noteAnswer(endpoint.id)
        this.#end(waiting)
        return isLost
      },
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
        if (waiting.hasToken) this.#signs.noteToken(replicaId, nowMs)
        else this.#signs.noteBytes(replicaId, nowMs)
        this.#onAlive(watched)
      }
      // Counted, not measured: a pause of this process is not the replica's.
      if (watched.silentTicks !== undefined) watched.silentTicks += 1
      this.#moveLost(replicaId)
      if (watched.isInDoubt) this.#onDoubt(watched)
      const isDue = nowMs - watched.checkedMs >= checkEveryMs && this.#runningChecks < maxChecks
      if (!isDue || !(watched.isInDoubt || this.#isSuspect(watched))) continue
      void this.#check(watched)
      void this.#readWork(watched.endpoint)
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

  /** Whether the replica has given somebody something since then. */
  hasGiven(replicaId: string, sinceMs: number): boolean {
    return this.#signs.lastMs(replicaId) >= sinceMs
  }

  onLeft(replicaId: string): void {
    this.#signs.forget(replicaId)
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

  /** Whether a request that is stopped was lost by its replica. One that reaches a limit of time is lost in any case. */
  #isLostBy(waiting: Waiting, stop: Stop): boolean {
    const isLimit = stop === 'limit'
    if (this.#isMuteFor(waiting, isLimit ? { times: 0, leastMs: 0 } : patienceOf(waiting))) this.#countLoss(waiting)
    return isLimit || this.#muteMs(waiting) >= this.#patienceMs(waiting, callers)
  }

  /** Whether the replica has given nobody anything for this long, while others have given tokens, or its engine stands still. */
  #isMuteFor(waiting: Waiting, patience: Patience): boolean {
    const muteMs = this.#muteMs(waiting)
    const { promptTokens, call, hasToken } = waiting
    if (promptTokens === undefined || muteMs < patience.leastMs) return false
    // A recording may take as long as a thousand texts.
    if (call !== undefined && !hasToken && this.#usualMs(waiting, promptTokens) === undefined) return false
    const { id } = waiting.endpoint
    const sinceMs = this.#options.now() - muteMs
    const atLeastMs = this.#patienceMs(waiting, patience)
    if (muteMs < atLeastMs) return false
    if (this.#signs.hasOther(id, sinceMs)) return true
    // The numbers are those of text.
    return call === undefined && this.#signs.stillMs(id, sinceMs) >= Math.max(atLeastMs, batching.leastMs)
  }

  /** How long the replica has given nobody anything while the request waited. */
  #muteMs({ endpoint, progressMs, beganMs }: Waiting): number {
    return this.#options.now() - Math.max(progressMs ?? beganMs, this.#signs.lastMs(endpoint.id))
  }

  /** Judged by the whole prompt: the replica may have lost what it had cached. */
  #patienceMs(waiting: Waiting, patience: Patience): number {
    const { promptTokens } = waiting
    return patienceMs(waiting, patience, promptTokens === undefined ? undefined : this.#usualMs(waiting, promptTokens))
  }

  #countLoss(waiting: Waiting): void {
    if (waiting.isCounted) return
    waiting.isCounted = true
    const { id } = waiting.endpoint
    if (this.#signs.countLoss(id) >= lossesOfMute) this.#options.onMute(id)
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
    const { now, isEjected, onMove, stalledMs } = this.#options
    const nowMs = now()
    const isCheckOverdue = silentTicks * silenceTickMs >= this.#latency.overdueMs
    const state = { nowMs, downMs, isCheckOverdue, stalledMs, isEjected: downMs !== undefined && isEjected(replicaId) }
    const isSilent = downMs !== undefined || isCheckOverdue
    for (const waiting of requests) {
      const isMute = this.#isMuteFor(waiting, patienceOf(waiting))
      if (!isLost(waiting, { p95Ms: isSilent ? this.#p95Of(waiting) : 0, isMute, ...state })) continue
      const silentMs = nowMs - (waiting.progressMs ?? waiting.beganMs)
      const isMove = waiting.canMove(state.isEjected && silentMs >= deadAfterMs)
      if (isMute) this.#countLoss(waiting)
      if (!isMove && !(waiting.hasToken && (isSilent || isMute) && silentMs >= givenUpMs)) continue // Case 3
      watched.isInDoubt = isSilent && !waiting.hasLeft
      this.#end(waiting)
      if (isMove) onMove(waiting.endpoint, nowMs - waiting.beganMs)
      waiting.end(isMove ? fellSilent(isSilent) : stoppedReplying(isSilent)) // Cases 1 and 2
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

  #p95Of(waiting: Waiting): number {
    const { promptTokens, call } = waiting
    if (promptTokens === undefined) return usualPauseMs
    return this.#usualMs(waiting, unreadTokens(waiting)) ?? (call === undefined ? usualFirstTokenMs : usualPauseMs)
  }

  /** How long 95 % of such requests take to their first token. Undefined: nothing is known. */
  #usualMs({ call }: Waiting, tokens: number): number | undefined {
    return this.#times.get(call)?.p95(tokens)
  }

  async #readWork(endpoint: Endpoint): Promise<void> {
    const numbers = await this.#options.readWork(endpoint)
    this.#signs.noteWork(endpoint.id, numbers, this.#options.now())
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

/** The tokens that the replica probably has to read. */
function unreadTokens({ promptTokens = 0, cachedTokens = 0 }: SilentRequest): number {
  return promptTokens - cachedTokens
}

function patienceOf({ isBatching }: SilentRequest): Patience {
  return isBatching === true ? batching : unbatched
}

function fellSilent(failsChecks: boolean): UpstreamError {
  return new UpstreamError({ type: 'silent' }, `the server behind this model fell silent, and ${silence(failsChecks)}`)
}

function stoppedReplying(failsChecks: boolean): UpstreamError {
  const message = `the server behind this model stopped in the middle of its answer, and ${silence(failsChecks)}`
  return new UpstreamError({ type: 'truncated' }, message)
}

function silence(failsChecks: boolean): string {
  return failsChecks ? 'does not answer its health checks' : 'gives nobody a token'
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

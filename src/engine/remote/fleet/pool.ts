import type { AffinityOutcome, EjectionReason } from '../../../contract/attempts.ts'
import type { LoadReport } from '../servers/load-report.ts'
import { Affinity, type AffinityKey, type AffinityOptions, type Sought } from './affinity/affinity.ts'
import { Breaker, type BreakerOptions, type BreakerPass, type BreakerState } from './breaker.ts'
import { CheckTimes } from './check-times.ts'
import type { Member, PoolEndpoint } from './member.ts'
import { type RequestOutcome, settle } from './settle.ts'
import { Standings } from './standings.ts'

export type { PoolEndpoint } from './member.ts'
export type { RequestOutcome } from './settle.ts'

type PoolOptions<Endpoint> = {
  readonly breaker: Omit<BreakerOptions, 'onOpen'>
  /** Called when a closed breaker opens. */
  onEjected?(endpoint: Endpoint, reason: EjectionReason): void
  /** Absent: the defaults of `Affinity`. */
  readonly affinity?: AffinityOptions
  /** False: endpoints are used last until `setKnown`. */
  readonly areKnown?: boolean
  /** An endpoint is due for a check when its last success is older. */
  readonly checkIntervalMs?: number
  /** The interval while its breaker is not closed. */
  readonly downCheckIntervalMs?: number
}

/** The right to send one request to an endpoint. */
export type Lease<Endpoint> = {
  readonly type: 'lease'
  readonly endpoint: Endpoint
  /** Whether the endpoint has the prompt's longest known prefix. Absent for a request without keys. */
  readonly affinity?: AffinityOutcome
  /** The reply has begun: a half-open endpoint takes more requests from now on. */
  confirm(): void
  /** Tokens of the prompt that the endpoint probably has in its cache. */
  readonly cachedTokens: number
  /** Records how many of the prompt's tokens the endpoint had cached. */
  learn(inputTokens: number, cachedTokens: number): void
  /** The conversation returns here only if no other endpoint may be used. */
  leave(nowMs: number): void
  /** Must be called once. Further calls do nothing. */
  release(outcome: RequestOutcome, nowMs: number): void
  /** After a doubtful release: another endpoint has answered the same request. To be called once at most. */
  blame(nowMs: number): void
}

/** No endpoint may be used before `retryAtMs`. */
export type NoLease = { readonly type: 'none'; readonly retryAtMs: number }

export type AcquireRequest = {
  readonly nowMs: number
  /** The likely cost of the request: its prompt and its output. */
  readonly tokens: number
  /** The prompt's part of it, which an endpoint may have cached. Absent: 0. */
  readonly promptTokens?: number
  /** The longest prefix first. */
  readonly affinityKeys: readonly AffinityKey[]
  /** Endpoints to use only if no other may be used. */
  readonly avoid?: ReadonlySet<string>
  /** Endpoints to skip. */
  readonly unfit?: ReadonlySet<string>
  /**
   * Endpoints that have failed this request. While no breaker admits it, it may be forced to another endpoint: the failures of other
   * requests should not fail it. Absent: it waits.
   */
  readonly failed?: ReadonlySet<string>
  /** Not a generation: its success does not offset a failed generation. */
  readonly isAuxiliary?: boolean
}

export type EndpointReport = {
  readonly id: string
  readonly weight: number
  readonly breaker: BreakerState
  readonly failures: number
  readonly source?: string
  readonly lastFailure?: string
  /** It gets no new requests. */
  readonly isDraining?: true
  readonly activeRequests: number
  readonly outstandingTokens: number
  /** Absent if it may be used now. */
  readonly retryAtMs?: number
}

type Granted<Endpoint extends PoolEndpoint> = {
  readonly pass: BreakerPass
  readonly sought: Sought<Member<Endpoint>> | undefined
  readonly request: AcquireRequest
}

/** With more of its memory for prompts in use, an endpoint soon interrupts requests. */
const fullFrom = 0.9
/** An address that comes back within this time has kept its cache. */
const rememberRemovedMs = 60_000
/** When to ask again if no endpoint supports the request. */
const askAgainMs = 1000

/**
 * Chooses a replica for each request: one that has seen the conversation before, or the least loaded in tokens by weight. The set of
 * replicas may change at any time. Does no I/O and reads no clock: callers pass the time, in milliseconds of one monotonic clock.
 */
export class Pool<Endpoint extends PoolEndpoint = PoolEndpoint> {
  readonly #members = new Map<string, Member<Endpoint>>()
  readonly #options: PoolOptions<Endpoint>
  readonly #standings = new Standings<Endpoint>()
  readonly #affinity: Affinity<Member<Endpoint>>
  readonly #checks: CheckTimes<Endpoint>
  /** The numbers of removed endpoints, in the order of their removal. */
  readonly #removed = new Map<string, { readonly number: number; readonly untilMs: number }>()
  #lastNumber = 0
  #turn = 0
  #meanTokens = 0

  constructor(endpoints: readonly Endpoint[], options: PoolOptions<Endpoint>) {
    const { checkIntervalMs = 10_000, downCheckIntervalMs = 1000 } = options
    this.#options = options
    this.#affinity = new Affinity(this.#standings, options.affinity)
    this.#checks = new CheckTimes({ checkIntervalMs, downCheckIntervalMs, random: options.breaker.random })
    for (const endpoint of endpoints) this.add(endpoint, Number.NEGATIVE_INFINITY)
  }

  get size(): number {
    return this.#members.size
  }

  has(id: string): boolean {
    return this.#members.has(id)
  }

  /** Adds an endpoint. Its id must not be in the pool. */
  add(endpoint: Endpoint, nowMs: number): void {
    if (this.#members.has(endpoint.id)) throw new Error(`${endpoint.id} is in the pool already`)
    const removed = this.#removed.get(endpoint.id)
    this.#removed.delete(endpoint.id)
    const isBack = removed !== undefined && nowMs <= removed.untilMs
    if (!isBack) this.#lastNumber += 1
    const member: Member<Endpoint> = {
      endpoint,
      number: isBack ? removed.number : this.#lastNumber,
      breaker: new Breaker({
        onOpen: (reason) => this.#options.onEjected?.(endpoint, reason),
        ...(endpoint.isRouter && { isRouter: true }),
        ...this.#options.breaker,
      }),
      weight: endpoint.weight,
      isKnown: this.#options.areKnown ?? true,
      isDraining: false,
      isRemoved: false,
      isFar: endpoint.isFar === true,
      activeRequests: 0,
      outstandingTokens: 0,
      foreignTokens: undefined,
      isFull: false,
      busyUntilMs: Number.NEGATIVE_INFINITY,
      lastFailure: undefined,
      addedMs: nowMs,
      phase: this.#options.breaker.random(),
      lastSuccessMs: Number.NEGATIVE_INFINITY,
      lastCheckMs: Number.NEGATIVE_INFINITY,
      heardMs: Number.NEGATIVE_INFINITY,
      isChecking: false,
      checkAtMs: Number.NEGATIVE_INFINITY,
      lastTurn: this.#lastNumber - Number.MAX_SAFE_INTEGER,
    }
    this.#members.set(endpoint.id, member)
    this.#checks.size = this.#members.size
    // A router chooses the server itself, so it has no affinity.
    if (endpoint.isRouter !== true) this.#affinity.add(member)
    this.#update(member, nowMs)
  }

  /** Sends no more requests to the endpoint; its leases end as usual. It keeps its prefixes if it comes back within a minute. */
  remove(id: string, nowMs: number): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    this.#members.delete(id)
    this.#checks.size = this.#members.size
    member.isRemoved = true
    this.#affinity.remove(member)
    this.#update(member, nowMs)
    for (const [old, { untilMs }] of this.#removed) {
      if (untilMs >= nowMs) break
      this.#removed.delete(old)
    }
    this.#removed.set(id, { number: member.number, untilMs: nowMs + rememberRemovedMs })
  }

  /** While it drains, an endpoint gets no new requests. */
  setDraining(id: string, isDraining: boolean, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.isDraining = isDraining
    })
  }

  /** Sets its share of the load; above 0. */
  setWeight(id: string, weight: number, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.weight = weight
    })
  }

  /** It is in another zone, or no longer. */
  setFar(id: string, isFar: boolean, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.isFar = isFar
    })
  }

  /** Until then, the endpoint is used only if no other may be. */
  avoid(id: string, untilMs: number, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.busyUntilMs = Math.max(member.busyUntilMs, untilMs)
    })
  }

  /** The endpoint's own word on its load, which other processes make, too. */
  reportLoad(id: string, { running = 0, waiting, cacheUse = 0 }: LoadReport, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.foreignTokens = Math.max(0, running + waiting - member.activeRequests) * this.#meanTokens
      // While others are farther away, a queue is full, too.
      member.isFull = cacheUse >= fullFrom || (waiting > 0 && this.#standings.hasFar)
    })
  }

  /** To be called when a probe has reached the endpoint. */
  setKnown(id: string, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.isKnown = true
    })
  }

  acquire(request: AcquireRequest): Lease<Endpoint> | NoLease {
    const { nowMs, avoid, unfit, failed, isAuxiliary } = request
    const standings = this.#standings
    standings.wake(nowMs)
    const sought = this.#affinity.seek(request)
    const isFit = ({ endpoint }: Member<Endpoint>) => unfit?.has(endpoint.id) !== true
    const isPreferred = (member: Member<Endpoint>) =>
      isFit(member) && avoid?.has(member.endpoint.id) !== true && sought?.hasLeft(member) !== true
    // The request costs as much elsewhere.
    const isNear = (member: Member<Endpoint>) =>
      !member.isFar &&
      !member.isFull &&
      standings.loadOf(member) <= standings.meanFor(member) + request.tokens / member.weight &&
      isPreferred(member)
    // In this order: neither avoided nor busy, those of this zone first; avoided or unknown; busy.
    const member =
      sought?.choose(isPreferred) ??
      (standings.hasFar ? standings.free(isNear) : undefined) ??
      standings.free(isPreferred) ??
      standings.freeOrUnknown(isFit) ??
      standings.busy(isPreferred) ??
      standings.busy(isFit)
    const pass = member?.breaker.enter(nowMs, isAuxiliary)
    if (member !== undefined && pass !== undefined) return this.#leaseOf(member, { pass, sought, request })
    const isUntried = (member: Member<Endpoint>) => isFit(member) && failed?.has(member.endpoint.id) === false
    const last = standings.blocked((member) => isUntried(member) && isPreferred(member)) ?? standings.blocked(isUntried)
    if (last !== undefined) return this.#leaseOf(last, { pass: last.breaker.force(isAuxiliary), sought, request })
    const atMs = standings.nextWakeMs(isFit) ?? Number.POSITIVE_INFINITY
    return { type: 'none', retryAtMs: Math.min(atMs, nowMs + askAgainMs) }
  }

  /** Whether the endpoint may be used and its breaker is closed. */
  isUsable(id: string, nowMs: number): boolean {
    const member = this.#members.get(id)
    return member !== undefined && !member.isDraining && member.busyUntilMs <= nowMs && member.breaker.state(nowMs) === 'closed'
  }

  /** Whether there is such an endpoint outside of these sets. */
  hasUsable(nowMs: number, ...except: readonly ReadonlySet<string>[]): boolean {
    this.#standings.wake(nowMs)
    const fits = ({ endpoint: { id } }: Member<Endpoint>) => this.isUsable(id, nowMs) && !except.some((set) => set.has(id))
    return this.#standings.freeOrUnknown(fits) !== undefined
  }

  /** The state of an endpoint's breaker; `open` if it is not in the pool. */
  stateOf(id: string, nowMs: number): BreakerState {
    return this.#members.get(id)?.breaker.state(nowMs) ?? 'open'
  }

  /** The endpoints to check now. Each is returned once, until `reportCheck`. */
  checksDue(nowMs: number): readonly Endpoint[] {
    return this.#checks.take(nowMs).map(({ endpoint }) => endpoint)
  }

  reportCheck(id: string, isOk: boolean, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.isChecking = false
      member.lastCheckMs = nowMs
      if (isOk) member.lastSuccessMs = nowMs
      else member.lastFailure = 'health check failed'
      member.breaker.onCheck(isOk, nowMs)
    })
  }

  reportSilent(id: string, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      member.lastFailure = 'gives no tokens'
      member.breaker.onSilent(nowMs)
    })
  }

  /** Another process has ejected the endpoint. */
  hearEjected(id: string, reason: EjectionReason, nowMs: number): void {
    this.#change(id, nowMs, ({ breaker }) => breaker.onEjectedElsewhere(reason, nowMs))
  }

  /** Another process has checked the endpoint and will do so again. A known and healthy endpoint is checked here only if it does not. */
  hearPassed(id: string, nowMs: number): void {
    this.#change(id, nowMs, (member) => {
      if (member.isKnown) member.heardMs = nowMs
    })
  }

  describe(nowMs: number): readonly EndpointReport[] {
    return Array.from(this.#members.values(), ({ endpoint, breaker, weight, lastFailure, isDraining, ...member }) => {
      const retryAtMs = Math.max(breaker.admitsAtMs(nowMs), member.busyUntilMs)
      return {
        id: endpoint.id,
        weight,
        breaker: breaker.state(nowMs),
        failures: breaker.failures,
        ...(endpoint.source !== undefined && { source: endpoint.source }),
        ...(lastFailure !== undefined && { lastFailure }),
        ...(isDraining && { isDraining: true as const }),
        activeRequests: member.activeRequests,
        outstandingTokens: member.outstandingTokens,
        ...(retryAtMs > nowMs && { retryAtMs }),
      }
    })
  }

  #change(id: string, nowMs: number, change: (member: Member<Endpoint>) => void): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    change(member)
    this.#update(member, nowMs)
  }

  #update(member: Member<Endpoint>, nowMs: number): void {
    this.#standings.update(member, nowMs)
    this.#checks.update(member, nowMs)
  }

  #leaseOf(member: Member<Endpoint>, { pass, sought, request }: Granted<Endpoint>): Lease<Endpoint> {
    const { nowMs } = request
    const placed = member.endpoint.isRouter === true ? undefined : sought?.place(member)
    const { cachedTokens = 0 } = placed ?? {}
    const tokens = Math.max(1, Math.ceil(request.tokens - cachedTokens))
    this.#meanTokens += (tokens - this.#meanTokens) / Math.min(100, this.#turn + 1)
    this.#turn += 1
    member.lastTurn = this.#turn
    member.activeRequests += 1
    member.outstandingTokens += tokens
    this.#update(member, nowMs)
    let isReleased = false
    return {
      type: 'lease',
      endpoint: member.endpoint,
      ...(placed !== undefined && { affinity: placed.outcome }),
      // Called for each chunk, without the time: the end of a pause is noticed by the next request.
      confirm: () => {
        if (member.breaker.confirm(pass)) this.#update(member, nowMs)
      },
      cachedTokens,
      learn: (inputTokens, cachedTokens) => placed?.learn(inputTokens, cachedTokens),
      leave: (nowMs) => placed?.leave(nowMs),
      release: (outcome, nowMs) => {
        if (isReleased) return
        isReleased = true
        member.activeRequests -= 1
        member.outstandingTokens -= tokens
        settle(member, pass, { outcome, nowMs })
        this.#update(member, nowMs)
      },
      blame: (nowMs) => {
        member.breaker.blame(pass, nowMs)
        this.#update(member, nowMs)
      },
    }
  }
}

import { ChurnMap } from '../../../base/churn.ts'
import type { EjectionReason } from '../../../contract/attempts.ts'
import { Breaker, type BreakerOptions, type BreakerPass, type BreakerState } from './breaker.ts'

/** `weight` is above 0: weight 2 takes twice the tokens of weight 1. */
export type PoolEndpoint = { readonly id: string; readonly weight: number }

type PoolOptions<Endpoint> = {
  readonly breaker: Omit<BreakerOptions, 'onOpen'>
  /** A breaker that was closed has opened. */
  onEjected?(endpoint: Endpoint, reason: EjectionReason): void
  /** How far the load of a replica may exceed the lowest, in tokens by weight, before its conversations move. */
  readonly spillOverTokens?: number
  readonly maxAffinityKeys?: number
  /** An endpoint without a success for so long is due for a check. */
  readonly checkIntervalMs?: number
  /** The same while its breaker is not closed. */
  readonly downCheckIntervalMs?: number
}

/** What a request says about its endpoint. */
export type RequestOutcome =
  | { readonly type: 'ok' }
  /** 429, or 503 with Retry-After: healthy, but to be avoided for a while. */
  | { readonly type: 'busy'; readonly retryAfterMs: number }
  | { readonly type: 'failed'; readonly reason: string; readonly isRefused?: boolean }
  /** A failure of the endpoint or of the request: `blame` says that it was the endpoint's. */
  | { readonly type: 'doubtful'; readonly reason: string }
  /** Nothing: the client's fault, cancelled, or not sent. */
  | { readonly type: 'neutral' }

/** The right to send one request to an endpoint. */
export type Lease<Endpoint> = {
  readonly type: 'lease'
  readonly endpoint: Endpoint
  /** The reply has begun: a half-open endpoint takes more requests from here on. */
  confirm(): void
  /** Must be called once; further calls do nothing. */
  release(outcome: RequestOutcome, nowMs: number): void
  /** After a doubtful release: another endpoint has answered the same request. To be called once at most. */
  blame(nowMs: number): void
}

/** No endpoint may be used before `retryAtMs`. */
export type NoLease = { readonly type: 'none'; readonly retryAtMs: number }

export type AcquireRequest = {
  readonly nowMs: number
  /** The likely cost of the request. */
  readonly tokens: number
  /** The longest prefix first. */
  readonly affinityKeys: readonly string[]
  /** Endpoints to use only when no other may be used. */
  readonly avoid?: ReadonlySet<string>
  /** Endpoints to skip. Must not contain all of them. */
  readonly unfit?: ReadonlySet<string>
  /**
   * Endpoints that have failed this request. While no breaker admits it, it goes to another one nevertheless: what other requests
   * met is no reason to refuse it. Absent: it waits.
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
  readonly lastFailure?: string
  readonly activeRequests: number
  readonly outstandingTokens: number
  /** Absent when it may be used now. */
  readonly retryAtMs?: number
}

type Member<Endpoint> = {
  readonly endpoint: Endpoint
  readonly breaker: Breaker
  activeRequests: number
  outstandingTokens: number
  busyUntilMs: number
  lastFailure: string | undefined
  lastSuccessMs: number
  lastCheckMs: number
  isChecking: boolean
}

/**
 * Chooses a replica for each request: the least loaded in tokens by weight, or the one that has read the conversation before.
 * No I/O and no clock: all times are milliseconds of one monotonic clock, passed in.
 */
export class Pool<Endpoint extends PoolEndpoint = PoolEndpoint> {
  readonly #members: readonly Member<Endpoint>[]
  readonly #options: Required<Omit<PoolOptions<Endpoint>, 'onEjected'>>
  /** Which endpoint has read a prefix, least recently used first. */
  readonly #endpointByPrefix = new ChurnMap<string, Member<Endpoint>>()
  #turn = 0

  constructor(endpoints: readonly Endpoint[], { onEjected, ...options }: PoolOptions<Endpoint>) {
    this.#options = {
      spillOverTokens: 4096,
      maxAffinityKeys: 10_000,
      checkIntervalMs: 10_000,
      downCheckIntervalMs: 1000,
      ...options,
    }
    this.#members = endpoints.map((endpoint) => ({
      endpoint,
      breaker: new Breaker({ onOpen: (reason) => onEjected?.(endpoint, reason), ...options.breaker }),
      activeRequests: 0,
      outstandingTokens: 0,
      busyUntilMs: Number.NEGATIVE_INFINITY,
      lastFailure: undefined,
      lastSuccessMs: Number.NEGATIVE_INFINITY,
      lastCheckMs: Number.NEGATIVE_INFINITY,
      isChecking: false,
    }))
  }

  acquire(request: AcquireRequest): Lease<Endpoint> | NoLease {
    const { nowMs, affinityKeys, avoid, unfit, failed, isAuxiliary } = request
    const fit = this.#members.filter(({ endpoint }) => unfit?.has(endpoint.id) !== true)
    const usable = fit.filter(({ breaker }) => breaker.admitsAtMs(nowMs) <= nowMs)
    const isPreferred = ({ endpoint }: Member<Endpoint>) => avoid?.has(endpoint.id) !== true
    const free = usable.filter(({ busyUntilMs }) => busyUntilMs <= nowMs)
    // In this order: neither avoided nor busy, avoided, busy.
    const member =
      this.#pick(free.filter(isPreferred), affinityKeys, nowMs) ??
      this.#pick(free, affinityKeys, nowMs) ??
      soonestOf(usable.filter(isPreferred)) ??
      soonestOf(usable)
    const pass = member?.breaker.enter(nowMs, isAuxiliary)
    if (member !== undefined && pass !== undefined) return this.#leaseOf(member, pass, request)
    const untried = failed === undefined ? [] : fit.filter(({ endpoint }) => !failed.has(endpoint.id))
    const last = this.#pick(untried.filter(isPreferred), affinityKeys) ?? this.#pick(untried, affinityKeys)
    if (last !== undefined) return this.#leaseOf(last, last.breaker.force(isAuxiliary), request)
    return { type: 'none', retryAtMs: Math.min(...fit.map(({ breaker }) => breaker.admitsAtMs(nowMs))) }
  }

  /** The endpoints to check now. Each is returned once, until `reportCheck`. */
  checksDue(nowMs: number): readonly Endpoint[] {
    const due = this.#members.filter((member) => {
      if (member.isChecking) return false
      const { breaker, lastSuccessMs, lastCheckMs } = member
      // Down, it is checked more often: a good check spares a client the failed trial.
      if (breaker.state(nowMs) !== 'closed' || lastCheckMs > lastSuccessMs)
        return nowMs - lastCheckMs >= this.#options.downCheckIntervalMs
      return nowMs - Math.max(lastSuccessMs, lastCheckMs) >= this.#options.checkIntervalMs
    })
    for (const member of due) member.isChecking = true
    return due.map(({ endpoint }) => endpoint)
  }

  reportCheck(id: string, isOk: boolean, nowMs: number): void {
    const member = this.#members.find(({ endpoint }) => endpoint.id === id)
    if (member === undefined) return
    member.isChecking = false
    member.lastCheckMs = nowMs
    if (isOk) member.lastSuccessMs = nowMs
    else member.lastFailure = 'health check failed'
    member.breaker.onCheck(isOk, nowMs)
  }

  describe(nowMs: number): readonly EndpointReport[] {
    return this.#members.map(({ endpoint, breaker, lastFailure, ...member }) => {
      const retryAtMs = Math.max(breaker.admitsAtMs(nowMs), member.busyUntilMs)
      return {
        id: endpoint.id,
        weight: endpoint.weight,
        breaker: breaker.state(nowMs),
        failures: breaker.failures,
        ...(lastFailure !== undefined && { lastFailure }),
        activeRequests: member.activeRequests,
        outstandingTokens: member.outstandingTokens,
        ...(retryAtMs > nowMs && { retryAtMs }),
      }
    })
  }

  #leaseOf(member: Member<Endpoint>, pass: BreakerPass, { tokens, affinityKeys }: AcquireRequest): Lease<Endpoint> {
    this.#turn = this.#members.indexOf(member) + 1
    this.#remember(affinityKeys, member)
    return leaseOf(member, pass, Math.max(1, Math.ceil(tokens)))
  }

  /** `nowMs`: conversations move away from replicas whose breaker is not closed then. */
  #pick(free: readonly Member<Endpoint>[], affinityKeys: readonly string[], nowMs?: number): Member<Endpoint> | undefined {
    const leastLoad = Math.min(...free.map(loadOf))
    for (const key of affinityKeys) {
      const member = this.#endpointByPrefix.get(key)
      if (member === undefined || !free.includes(member)) continue
      if (nowMs !== undefined && member.breaker.state(nowMs) !== 'closed') continue
      if (loadOf(member) <= leastLoad + this.#options.spillOverTokens) return member
    }
    // Equals take turns.
    const count = this.#members.length
    for (let step = 0; step < count; step++) {
      const member = this.#members[(this.#turn + step) % count]
      if (member !== undefined && free.includes(member) && loadOf(member) === leastLoad) return member
    }
    return undefined
  }

  #remember(affinityKeys: readonly string[], member: Member<Endpoint>): void {
    // The shortest first, so that the longest is evicted last.
    for (const key of affinityKeys.toReversed()) {
      this.#endpointByPrefix.delete(key)
      this.#endpointByPrefix.set(key, member)
    }
    for (const key of this.#endpointByPrefix.keys()) {
      if (this.#endpointByPrefix.size <= this.#options.maxAffinityKeys) return
      this.#endpointByPrefix.delete(key)
    }
  }
}

function loadOf({ outstandingTokens, endpoint }: Member<PoolEndpoint>): number {
  return outstandingTokens / endpoint.weight
}

function soonestOf<Endpoint>(busy: readonly Member<Endpoint>[]): Member<Endpoint> | undefined {
  return busy.toSorted((a, b) => a.busyUntilMs - b.busyUntilMs)[0]
}

function leaseOf<Endpoint>(member: Member<Endpoint>, pass: BreakerPass, tokens: number): Lease<Endpoint> {
  member.activeRequests += 1
  member.outstandingTokens += tokens
  let isReleased = false
  return {
    type: 'lease',
    endpoint: member.endpoint,
    confirm: () => member.breaker.confirm(pass),
    release: (outcome, nowMs) => {
      if (isReleased) return
      isReleased = true
      member.activeRequests -= 1
      member.outstandingTokens -= tokens
      settle(member, pass, { outcome, nowMs })
    },
    blame: (nowMs) => member.breaker.blame(pass, nowMs),
  }
}

function settle(
  member: Member<unknown>,
  pass: BreakerPass,
  { outcome, nowMs }: { readonly outcome: RequestOutcome; readonly nowMs: number },
): void {
  const { breaker } = member
  switch (outcome.type) {
    case 'ok':
      member.lastSuccessMs = Math.max(member.lastSuccessMs, nowMs)
      breaker.leave(pass, 'ok', nowMs)
      return
    case 'busy':
      member.busyUntilMs = Math.max(member.busyUntilMs, nowMs + outcome.retryAfterMs)
      breaker.leave(pass, 'ok', nowMs)
      return
    case 'failed':
      member.lastFailure = outcome.reason
      breaker.leave(pass, outcome.isRefused === true ? 'refused' : 'failed', nowMs)
      return
    case 'doubtful':
      member.lastFailure = outcome.reason
      breaker.leave(pass, 'doubtful', nowMs)
      return
    case 'neutral':
      breaker.leave(pass, 'neutral', nowMs)
      return
  }
}

import { Breaker, type BreakerOptions, type BreakerPass, type BreakerState } from './breaker.ts'

/** `weight` is above 0: an endpoint of weight 2 carries twice the tokens of one of weight 1. */
export type PoolEndpoint = { readonly id: string; readonly weight: number }

export type PoolOptions = {
  readonly breaker: BreakerOptions
  /** How much more load, in tokens by weight, a replica may have than the least loaded and still keep its conversations. */
  readonly spillOverTokens?: number
  readonly maxAffinityKeys?: number
  /** An endpoint from which nothing good was heard for so long is due for a check. */
  readonly checkIntervalMs?: number
  /** The same for an endpoint whose breaker is not closed. */
  readonly downCheckIntervalMs?: number
}

/** What became of an exchange. */
export type RequestOutcome =
  | { readonly type: 'ok' }
  /** 429, or 503 with Retry-After: the endpoint lives, and wants no more for a while. */
  | { readonly type: 'busy'; readonly retryAfterMs: number }
  | { readonly type: 'failed'; readonly reason: string; readonly isRefused?: boolean }
  /** The client's fault, or cancelled: it says nothing about the endpoint. */
  | { readonly type: 'neutral' }

/** The right to send one request to an endpoint. */
export type Lease<Endpoint> = {
  readonly type: 'lease'
  readonly endpoint: Endpoint
  /** The first event has come: an endpoint on trial takes more traffic from here on. */
  confirm(): void
  /** Only the first call counts; every lease must have one. */
  release(outcome: RequestOutcome, nowMs: number): void
}

/** No endpoint may be used before `retryAtMs`. */
export type NoLease = { readonly type: 'none'; readonly retryAtMs: number }

export type AcquireRequest = {
  readonly nowMs: number
  /** What the request is likely to cost. */
  readonly tokens: number
  /** From `affinityKeys`: the longest prefix first. */
  readonly affinityKeys: readonly string[]
  /** Endpoints that have failed this request: they are used only when no other may be. */
  readonly avoid?: ReadonlySet<string>
  /** Endpoints that cannot do what is wanted: they are never used. At least one is none of them. */
  readonly unfit?: ReadonlySet<string>
  /** Something that is not the endpoint's work: that it succeeds does not make up for work that failed. */
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
  /** It may not be used before; absent when it may be used now. */
  readonly retryAtMs?: number
}

type Member<Endpoint> = {
  readonly endpoint: Endpoint
  readonly breaker: Breaker
  activeRequests: number
  outstandingTokens: number
  busyUntilMs: number
  lastFailure: string | undefined
  lastGoodMs: number
  lastCheckMs: number
  isChecking: boolean
}

/**
 * Chooses a replica for each request: the least loaded in tokens by weight, or the one that has read the conversation before.
 * Does no I/O and reads no clock; all times are milliseconds of one clock that the caller passes in.
 */
export class Pool<Endpoint extends PoolEndpoint = PoolEndpoint> {
  readonly #members: readonly Member<Endpoint>[]
  readonly #options: Required<PoolOptions>
  /** Which endpoint has read a prefix. A map keeps its order: the first key is the one that was unused for longest. */
  readonly #served = new Map<string, Member<Endpoint>>()
  #turn = 0

  constructor(endpoints: readonly Endpoint[], options: PoolOptions) {
    this.#options = {
      spillOverTokens: 4096,
      maxAffinityKeys: 10_000,
      checkIntervalMs: 10_000,
      downCheckIntervalMs: 1000,
      ...options,
    }
    this.#members = endpoints.map((endpoint) => ({
      endpoint,
      breaker: new Breaker(options.breaker),
      activeRequests: 0,
      outstandingTokens: 0,
      busyUntilMs: Number.NEGATIVE_INFINITY,
      lastFailure: undefined,
      lastGoodMs: Number.NEGATIVE_INFINITY,
      lastCheckMs: Number.NEGATIVE_INFINITY,
      isChecking: false,
    }))
  }

  acquire({ nowMs, tokens, affinityKeys, avoid, unfit, isAuxiliary }: AcquireRequest): Lease<Endpoint> | NoLease {
    const fit = this.#members.filter(({ endpoint }) => unfit?.has(endpoint.id) !== true)
    const usable = fit.filter(({ breaker }) => breaker.admitsAtMs(nowMs) <= nowMs)
    const isFresh = ({ endpoint }: Member<Endpoint>) => avoid?.has(endpoint.id) !== true
    const free = usable.filter(({ busyUntilMs }) => busyUntilMs <= nowMs)
    // 1. what has not failed this request, 2. what has, 3. what asked to be left alone for a while
    const member =
      this.#pick(free.filter(isFresh), affinityKeys, nowMs) ??
      this.#pick(free, affinityKeys, nowMs) ??
      soonestOf(usable.filter(isFresh)) ??
      soonestOf(usable)
    const pass = member?.breaker.enter(nowMs, isAuxiliary)
    if (member === undefined || pass === undefined) {
      return { type: 'none', retryAtMs: Math.min(...fit.map(({ breaker }) => breaker.admitsAtMs(nowMs))) }
    }
    this.#turn = this.#members.indexOf(member) + 1
    this.#remember(affinityKeys, member)
    return lend(member, pass, Math.max(1, Math.ceil(tokens)))
  }

  /** The endpoints to be checked now. Each is handed out once, until `reportCheck` has been told of it. */
  checksDue(nowMs: number): readonly Endpoint[] {
    const due = this.#members.filter((member) => {
      if (member.isChecking) return false
      const { breaker, lastGoodMs, lastCheckMs } = member
      // One that is down is asked more often: the check finds out that it is back, and spares a client the trial.
      if (breaker.state(nowMs) !== 'closed' || lastCheckMs > lastGoodMs)
        return nowMs - lastCheckMs >= this.#options.downCheckIntervalMs
      return nowMs - Math.max(lastGoodMs, lastCheckMs) >= this.#options.checkIntervalMs
    })
    for (const member of due) member.isChecking = true
    return due.map(({ endpoint }) => endpoint)
  }

  reportCheck(id: string, isOk: boolean, nowMs: number): void {
    const member = this.#members.find(({ endpoint }) => endpoint.id === id)
    if (member === undefined) return
    member.isChecking = false
    member.lastCheckMs = nowMs
    if (isOk) member.lastGoodMs = nowMs
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

  #pick(free: readonly Member<Endpoint>[], affinityKeys: readonly string[], nowMs: number): Member<Endpoint> | undefined {
    const leastLoad = Math.min(...free.map(loadOf))
    for (const key of affinityKeys) {
      const member = this.#served.get(key)
      if (member === undefined || !free.includes(member) || member.breaker.state(nowMs) !== 'closed') continue
      if (loadOf(member) <= leastLoad + this.#options.spillOverTokens) return member
    }
    // Among equals it is the turn of the one after the last that was chosen.
    const count = this.#members.length
    for (let step = 0; step < count; step++) {
      const member = this.#members[(this.#turn + step) % count]
      if (member !== undefined && free.includes(member) && loadOf(member) === leastLoad) return member
    }
    return undefined
  }

  #remember(affinityKeys: readonly string[], member: Member<Endpoint>): void {
    // The shortest first, so that the longest is the last to be forgotten.
    for (const key of affinityKeys.toReversed()) {
      this.#served.delete(key)
      this.#served.set(key, member)
    }
    for (const key of this.#served.keys()) {
      if (this.#served.size <= this.#options.maxAffinityKeys) return
      this.#served.delete(key)
    }
  }
}

function loadOf({ outstandingTokens, endpoint }: Member<PoolEndpoint>): number {
  return outstandingTokens / endpoint.weight
}

function soonestOf<Endpoint>(busy: readonly Member<Endpoint>[]): Member<Endpoint> | undefined {
  return busy.toSorted((a, b) => a.busyUntilMs - b.busyUntilMs)[0]
}

function lend<Endpoint>(member: Member<Endpoint>, pass: BreakerPass, tokens: number): Lease<Endpoint> {
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
      member.lastGoodMs = Math.max(member.lastGoodMs, nowMs)
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
    case 'neutral':
      breaker.leave(pass, 'neutral', nowMs)
      return
  }
}

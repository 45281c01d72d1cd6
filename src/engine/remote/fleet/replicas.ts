import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { orAborted } from '../../../base/time-limit.ts'
import type { FleetObserver } from '../../../contract/attempts.ts'
import { AppError, messageOf } from '../../../contract/errors.ts'
import type { Discovery, Upstream } from '../servers/upstream.ts'
import type { Endpoint } from '../transport/client.ts'
import { hostOf } from '../transport/upstream-url.ts'
import { Discoveries, type DiscoveryOptions, type KnownReplica } from './discoveries.ts'
import { startHealthChecks } from './health-check.ts'
import { type AcquireRequest, type EndpointReport, type Lease, type NoLease, Pool, type RequestOutcome } from './pool.ts'
import type { ReplicaStatus } from './retry-rule.ts'

type ReplicaOptions = DiscoveryOptions & {
  readonly observer?: FleetObserver | undefined
  /** Milliseconds of a monotonic clock. */
  now(): number
  random(): number
}

/** A replica, and the right to send it one request. */
export type AcquiredReplica = {
  readonly endpoint: Endpoint
  readonly upstream: Upstream
  /** The reply has begun: a half-open replica takes more requests from here on. */
  confirm(): void
  /** Ends the right; to be called exactly once. */
  release(outcome: RequestOutcome): void
  /** After a doubtful outcome: another replica has answered the same request. */
  blame(): void
}

/** The state of one replica, and what it was found to be. */
export type ReplicaReport = EndpointReport & { readonly discovery: Discovery | undefined }

type Wanted = Omit<AcquireRequest, 'nowMs'>

const noIds: ReadonlySet<string> = new Set()
/** How often a waiting request looks for a free replica. */
const pollEveryMs = 250
const refreshEveryMs = 60_000

/** The replicas of one model: chooses one for each request, probes them and checks their health. */
export class Replicas {
  readonly #options: ReplicaOptions
  readonly #pool: Pool<Endpoint>
  readonly #closed = new AbortController()
  readonly #discoveries: Discoveries
  #checks: { stop(): Promise<void> } | undefined
  #refreshing: NodeJS.Timeout | undefined

  constructor(options: ReplicaOptions) {
    this.#options = options
    // Every probe listens to it.
    setMaxListeners(0, this.#closed.signal)
    this.#pool = new Pool(options.endpoints, {
      breaker: { random: options.random },
      onEjected: ({ url }, reason) => options.observer?.ejected(hostOf(url), reason),
    })
    this.#discoveries = new Discoveries(options, this.#closed.signal)
  }

  get count(): number {
    return this.#options.endpoints.length
  }

  /** The first replica that is known. */
  get discovery(): Discovery | undefined {
    return this.#discoveries.known[0]?.discovery
  }

  /** All replicas that are known. */
  get upstreams(): readonly Upstream[] {
    return this.#discoveries.known.map(({ upstream }) => upstream)
  }

  /** All replicas that are known, with their addresses. */
  get places(): readonly { readonly endpoint: Endpoint; readonly upstream: Upstream }[] {
    return this.#options.endpoints.flatMap((endpoint) => {
      const known = this.#discoveries.get(endpoint.id)
      return known === undefined ? [] : [{ endpoint, upstream: known.upstream }]
    })
  }

  /** Probes all replicas and resolves with the first that answers. Rejects with `model-unavailable` when none does. */
  async discover(signal: AbortSignal): Promise<Discovery> {
    this.#checks ??= startHealthChecks({
      pool: this.#pool,
      check: (endpoint, stopped) => this.#check(endpoint, stopped),
      now: this.#options.now,
      wait: (ms, stopped) => sleep(ms, undefined, { signal: stopped, ref: false }).catch(() => undefined),
    })
    this.#refreshing ??= setInterval(() => this.#discoveries.refresh(), refreshEveryMs).unref()
    // Every probe listens to it.
    setMaxListeners(0, signal)
    try {
      const probes = this.#options.endpoints.map((endpoint) => orAborted(this.#discoveries.probe(endpoint), signal))
      return (await Promise.any(probes)).discovery
    } catch {
      signal.throwIfAborted()
      this.throwIfClosed()
      throw new AppError('model-unavailable', this.#discoveries.failureReasons)
    }
  }

  /** A replica for one request. Waits up to `waitMs` while none may be used; then rejects with `model-unavailable`. */
  acquire(wanted: Wanted, waitMs: number, signal: AbortSignal): AcquiredReplica | Promise<AcquiredReplica> {
    const lease = this.#lease(wanted, signal)
    const known = lease.type === 'lease' ? this.#discoveries.get(lease.endpoint.id) : undefined
    if (lease.type === 'lease' && known !== undefined) return this.#acquired(lease, known)
    return this.#acquireLater(lease, wanted, { untilMs: this.#options.now() + waitMs, signal })
  }

  /** What the retry rule needs to know of each replica. */
  statuses(): readonly ReplicaStatus[] {
    return this.describe().map(({ id, retryAtMs, breaker, discovery }) => ({
      id,
      isKnown: discovery !== undefined,
      isUsable: retryAtMs === undefined && breaker === 'closed',
    }))
  }

  describe(): readonly ReplicaReport[] {
    return this.#pool
      .describe(this.#options.now())
      .map((report) => ({ discovery: this.#discoveries.get(report.id)?.discovery, ...report }))
  }

  /** Throws `model-unavailable` after `close`. */
  throwIfClosed(): void {
    this.#closed.signal.throwIfAborted()
  }

  /** Waits; rejects with the signal's reason, or with `model-unavailable` when closed. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await orAborted(sleep(ms, undefined, { signal, ref: false }), this.#closed.signal)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  /** Ends checks, probes and waiting requests for good. */
  async close(): Promise<void> {
    this.#closed.abort(new AppError('model-unavailable', 'the model was unloaded'))
    clearInterval(this.#refreshing)
    await this.#checks?.stop()
    await this.#discoveries.settled()
  }

  #lease(
    { avoid = noIds, unfit = noIds, failed, tokens, affinityKeys, isAuxiliary = false }: Wanted,
    signal: AbortSignal,
  ): Lease<Endpoint> | NoLease {
    signal.throwIfAborted()
    this.throwIfClosed()
    const { unknownIds } = this.#discoveries
    // An unknown replica comes last: its probe may take long, and the health checks probe it anyway.
    const avoided = unknownIds.length === 0 ? avoid : new Set([...avoid, ...unknownIds])
    const request = { tokens, affinityKeys, isAuxiliary, avoid: avoided, unfit, ...(failed !== undefined && { failed }) }
    return this.#pool.acquire({ nowMs: this.#options.now(), ...request })
  }

  #acquired(lease: Lease<Endpoint>, { upstream }: KnownReplica): AcquiredReplica {
    return {
      endpoint: lease.endpoint,
      upstream,
      confirm: lease.confirm,
      release: (outcome) => lease.release(outcome, this.#options.now()),
      blame: () => lease.blame(this.#options.now()),
    }
  }

  async #acquireLater(
    first: Lease<Endpoint> | NoLease,
    given: Wanted,
    { untilMs, signal }: { readonly untilMs: number; readonly signal: AbortSignal },
  ): Promise<AcquiredReplica> {
    let wanted = given
    for (let lease = first; ; lease = this.#lease(wanted, signal)) {
      if (lease.type === 'lease') {
        const known = await this.#probeLeased(lease, signal)
        if (known !== undefined) return this.#acquired(lease, known)
        wanted = { ...wanted, failed: new Set([...(wanted.failed ?? []), lease.endpoint.id]) }
        continue
      }
      const waitMs = lease.retryAtMs - this.#options.now()
      if (lease.retryAtMs > untilMs) throw this.#noneUsable(waitMs)
      // Poll: a health check may find a replica back before that time.
      await this.pause(Math.min(pollEveryMs, Math.max(10, waitMs)), signal)
    }
  }

  /** Undefined when the replica cannot be used after all; the lease is released then. */
  async #probeLeased(lease: Lease<Endpoint>, signal: AbortSignal): Promise<KnownReplica | undefined> {
    const { endpoint } = lease
    try {
      return this.#discoveries.get(endpoint.id) ?? (await orAborted(this.#discoveries.probe(endpoint), signal))
    } catch (error) {
      this.throwIfClosed()
      const failed = { type: 'failed', reason: messageOf(error), isRefused: true } as const
      lease.release(signal.aborted ? { type: 'neutral' } : failed, this.#options.now())
      signal.throwIfAborted()
      return undefined
    }
  }

  #noneUsable(waitMs: number): AppError {
    const { failureReasons } = this.#discoveries
    const why = failureReasons === '' ? '' : `: ${failureReasons}`
    const retryAfterMs = Math.max(1000, Math.ceil(waitMs))
    return new AppError('model-unavailable', `none of the servers behind this model can be used now${why}`, { retryAfterMs })
  }

  /** Probes a replica that was down: it may have come back as another server. */
  async #check(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const known = this.#discoveries.get(endpoint.id)
    const isDown = this.#pool.describe(this.#options.now()).some(({ id, breaker }) => id === endpoint.id && breaker !== 'closed')
    if (known === undefined || isDown) await orAborted(this.#discoveries.probe(endpoint), signal)
    else await this.#options.client.touch(endpoint, known.upstream.profile.health, signal)
  }
}

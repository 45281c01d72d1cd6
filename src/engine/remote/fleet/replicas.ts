import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostOf } from '../../../base/text/server-url.ts'
import { orAborted } from '../../../base/time-limit.ts'
import type { WatchedSet } from '../../../base/watched-set.ts'
import type { FleetObserver } from '../../../contract/attempts.ts'
import type { DrainedServer } from '../../../contract/engine.ts'
import { AppError, messageOf } from '../../../contract/errors.ts'
import type { EndpointSource } from '../endpoints/source.ts'
import type { Discovery, Upstream } from '../servers/upstream.ts'
import type { Endpoint } from '../transport/client.ts'
import type { AcquiredReplica } from './acquired-replica.ts'
import type { AffinityOptions } from './affinity/affinity.ts'
import { Discoveries, type DiscoveryOptions, type KnownReplica } from './discoveries.ts'
import { startHealthChecks } from './health-check.ts'
import { LoadReader } from './load-reader.ts'
import { type MemberChange, Membership } from './membership.ts'
import { type CheckNews, type EjectionNews, hearOthers } from './other-processes.ts'
import { type AcquireRequest, type EndpointReport, type Lease, type NoLease, Pool } from './pool.ts'
import { Shares, type WarmUp } from './shares/shares.ts'
import type { SilentRequest, WatchedRequest } from './silence/silence.ts'
import { SilenceWatch } from './silence-watch.ts'

type ReplicaOptions = Omit<DiscoveryOptions, 'onDiscovered' | 'endpoints'> & {
  readonly source: EndpointSource
  /** How long the requests of a removed server may continue there. */
  readonly drainMs: number
  /** How long a request waits for a server while there are none. */
  readonly holdMs: number
  /** Called when there are no servers left: requests wait for one. */
  onEmpty(): void
  /** Called when a probe of a replica has found something out. */
  onDiscovered(): void
  readonly affinity?: AffinityOptions
  /** The ids of replicas that an operator has taken out of use. */
  readonly drains: WatchedSet<string>
  readonly warmUp: WarmUp | undefined
  readonly checkNews?: CheckNews | undefined
  readonly ejectionNews?: EjectionNews | undefined
  /** How long a reply may stop before its request ends. Half of it is left for another replica. Absent: for ever. */
  readonly stallMs?: number | undefined
  readonly observer?: FleetObserver | undefined
  /** Milliseconds of a monotonic clock. */
  now(): number
  random(): number
}

export type ReplicaReport = EndpointReport & { readonly discovery: Discovery | undefined }

type Wanted = Omit<AcquireRequest, 'nowMs'>

/** How often a waiting request looks for a free replica. */
const pollEveryMs = 250

/** The replicas of one model. Chooses one for each request, probes them and checks their health. */
export class Replicas {
  readonly #options: ReplicaOptions
  readonly #pool: Pool<Endpoint>
  readonly #members: Membership
  readonly #closed = new AbortController()
  readonly #discoveries: Discoveries
  #checks: { stop(): Promise<void> } | undefined
  #unlisten: (() => void) | undefined
  #seconds: NodeJS.Timeout | undefined
  readonly #shares: Shares
  readonly #silence: SilenceWatch
  readonly #loads: LoadReader

  constructor(options: ReplicaOptions) {
    this.#options = options
    // Every probe listens to it.
    setMaxListeners(0, this.#closed.signal)
    const { random, affinity = {}, now } = options
    // An unknown replica comes last: its probe may take long, and the health checks probe it anyway.
    this.#pool = new Pool<Endpoint>([], {
      breaker: { random },
      areKnown: false,
      affinity,
      onEjected: ({ id, url }, reason) => {
        this.#shares.ejected(id, reason)
        options.ejectionNews?.ejected(id, reason)
        options.observer?.ejected(hostOf(url), reason)
      },
    })
    this.#loads = new LoadReader({ pool: this.#pool, stopped: this.#closed.signal, ...options })
    this.#shares = new Shares({ pool: this.#pool, ...options })
    const onDiscovered = (id: string) => {
      this.#pool.setKnown(id, now())
      this.#shares.reached(id)
      this.#members.onReached()
      options.onDiscovered()
    }
    this.#members = new Membership({
      ...options,
      onChange: (change) => this.#onChange(change),
      onDrained: (endpoint) => void options.client.disconnect(endpoint),
    })
    const { endpoints } = this.#members
    this.#discoveries = new Discoveries({ ...options, endpoints, onDiscovered }, this.#closed.signal)
    this.#silence = this.#createSilence()
  }

  get count(): number {
    return this.#pool.size
  }

  /** The discovery of the first known replica, or of the last one that was known. */
  get discovery(): Discovery | undefined {
    return this.#discoveries.model
  }

  /** There are no servers, or all of those that came since there were none are still unreached: requests wait. */
  get isHolding(): boolean {
    return this.#members.isHolding
  }

  /** The distinct upstreams of the known replicas. */
  get upstreams(): readonly Upstream[] {
    return this.#discoveries.upstreams
  }

  /** All known replicas with their addresses. */
  get places(): readonly { readonly endpoint: Endpoint; readonly upstream: Upstream }[] {
    return [...this.#members.endpoints.values()].flatMap((endpoint) => {
      const known = this.#discoveries.get(endpoint.id)
      return known === undefined ? [] : [{ endpoint, upstream: known.upstream }]
    })
  }

  /** Begins to follow the servers of the model. Undefined if the set is known, even if empty. */
  open(signal: AbortSignal): Promise<void> | undefined {
    this.#checks ??= startHealthChecks({
      pool: { checksDue: (nowMs) => this.#pool.checksDue(nowMs), reportCheck: (id, isOk) => this.#reportCheck(id, isOk) },
      ...this.#checking,
    })
    this.#unlisten ??= hearOthers({ ...this.#options, pool: this.#pool, silence: this.#silence })
    this.#seconds ??= setInterval(() => this.#everySecond(), 1000).unref()
    return this.#members.start(signal)
  }

  /**
   * The discovery of the model. Waits while there are no servers, then for the first one that answers. Rejects with `model-unavailable` if
   * all fail.
   */
  async discover(signal: AbortSignal): Promise<Discovery> {
    await this.open(signal)
    await this.#members.held(signal)
    if (this.discovery !== undefined) return this.discovery
    // Every probe listens to it.
    setMaxListeners(0, signal)
    try {
      const endpoints = [...this.#members.endpoints.values()]
      const probes = endpoints.map((endpoint) => orAborted(this.#discoveries.probe(endpoint), signal))
      return (await Promise.any(probes)).discovery
    } catch {
      signal.throwIfAborted()
      this.throwIfClosed()
      throw new AppError('model-unavailable', this.#discoveries.failureReasons, { retryAfterMs: 1000 })
    }
  }

  /** A replica for one request. Waits up to `waitMs` while no replica may be used, then rejects with `model-unavailable`. */
  acquire(wanted: Wanted, waitMs: number, signal: AbortSignal): AcquiredReplica | Promise<AcquiredReplica> {
    const held = this.#members.held(signal)
    if (held !== undefined) return held.then(() => this.acquire(wanted, waitMs, signal))
    const lease = this.#lease(wanted, signal)
    const known = lease.type === 'lease' ? this.#discoveries.get(lease.endpoint.id) : undefined
    if (lease.type === 'lease' && known !== undefined) return this.#acquired(lease, known)
    return this.#acquireLater(lease, wanted, { untilMs: this.#options.now() + waitMs, signal })
  }

  /**
   * Takes a replica out of use, or back into it, by its URL; or all replicas of a host and port. Throws `not-found` if there is no such
   * replica.
   */
  setDraining(server: string, isDraining: boolean): readonly DrainedServer[] {
    const { drains, probe } = this.#options
    const endpoints = [...this.#members.endpoints.values()]
    const found = endpoints.filter(({ url }) => url === server.replace(/\/+$/, '') || hostOf(url) === server)
    if (found.length === 0) {
      const hosts = endpoints.map(({ url }) => hostOf(url)).join(', ')
      throw new AppError('not-found', `model '${probe.id}' has no server '${server}'; it has: ${hosts}`, { param: 'url' })
    }
    for (const { id } of found) drains.set(id, isDraining)
    const running = new Map(this.describe().map(({ id, activeRequests }) => [id, activeRequests]))
    return found.map(({ id, url }) => ({ url: id, host: hostOf(url), activeRequests: running.get(id) ?? 0 }))
  }

  /** Watches a request until its first token. */
  watch(request: SilentRequest): WatchedRequest {
    return this.#silence.watch(request)
  }

  /** Whether a replica outside of this set is known. */
  hasKnown(except: ReadonlySet<string>): boolean {
    return this.#discoveries.hasKnown(except)
  }

  /** Whether the breaker of a replica is closed, and no Retry-After is running. */
  isUsable(id: string): boolean {
    return this.#pool.isUsable(id, this.#options.now())
  }

  /** Whether there is such a replica outside of these sets. */
  hasUsable(...except: readonly ReadonlySet<string>[]): boolean {
    return this.#pool.hasUsable(this.#options.now(), ...except)
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

  /** Waits. Rejects with the signal's reason, or with `model-unavailable` when closed. */
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
    const error = new AppError('model-unavailable', 'the model was unloaded')
    this.#closed.abort(error)
    this.#members.stop(error)
    clearInterval(this.#seconds)
    this.#silence.close()
    this.#shares.close()
    this.#unlisten?.()
    await this.#checks?.stop()
    await this.#discoveries.settled()
  }

  #lease(wanted: Wanted, signal: AbortSignal): Lease<Endpoint> | NoLease {
    signal.throwIfAborted()
    this.throwIfClosed()
    const { spareIds } = this.#members
    const avoid = spareIds.size === 0 ? {} : { avoid: new Set([...spareIds, ...(wanted.avoid ?? [])]) }
    const nowMs = this.#options.now()
    this.#loads.noteUse(nowMs)
    return this.#pool.acquire({ nowMs, ...wanted, ...avoid })
  }

  #acquired(lease: Lease<Endpoint>, { upstream }: KnownReplica): AcquiredReplica {
    const { endpoint, affinity, confirm, learn, cachedTokens } = lease
    return {
      // Its key may have changed meanwhile.
      endpoint: this.#members.endpoints.get(endpoint.id) ?? endpoint,
      upstream,
      ...(affinity !== undefined && { affinity }),
      confirm,
      learn,
      cachedTokens,
      leave: () => lease.leave(this.#options.now()),
      reportLoad: (load) => this.#pool.reportLoad(endpoint.id, load, this.#options.now()),
      release: (outcome) => {
        lease.release(outcome, this.#options.now())
        if (outcome.type === 'failed' && outcome.isRefused === true) this.#silence.onRefused(lease.endpoint.id)
      },
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
      const held = this.#members.held(signal)
      if (held !== undefined) {
        await held
        continue
      }
      const waitMs = lease.retryAtMs - this.#options.now()
      if (lease.retryAtMs > untilMs) throw this.#noneUsable(waitMs)
      // Polls: a health check may find a replica back before that time.
      await this.pause(Math.min(pollEveryMs, Math.max(10, waitMs)), signal)
    }
  }

  /** Undefined if the replica cannot be used after all; the lease is released then. */
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

  readonly #checking = {
    check: ({ id }: Endpoint, ended: AbortSignal) => this.#check(this.#members.endpoints.get(id), ended),
    now: () => this.#options.now(),
    after: (ms: number, fire: () => void) => {
      const timer = setTimeout(fire, ms).unref()
      return () => clearTimeout(timer)
    },
  }

  #everySecond(): void {
    this.#shares.tick()
    this.#discoveries.refresh((id) => {
      // Only its own health check may end the wait for a replica that is down.
      if (this.#pool.stateOf(id, this.#options.now()) === 'closed') this.#reportCheck(id, true)
    })
  }

  #reportCheck(id: string, isOk: boolean): void {
    this.#pool.reportCheck(id, isOk, this.#options.now())
    this.#silence.onCheck(id, isOk)
    if (isOk) this.#options.checkNews?.passed(id)
  }

  #createSilence(): SilenceWatch {
    const { now, log, probe, client, stallMs = Number.POSITIVE_INFINITY } = this.#options
    return new SilenceWatch({
      ...this.#checking,
      model: probe.id,
      log,
      stopped: this.#closed.signal,
      stalledMs: stallMs / 2,
      isEjected: (replicaId) => this.#pool.stateOf(replicaId, now()) !== 'closed',
      client,
      workMetricsOf: (id) => this.#discoveries.get(id)?.upstream.profile.workMetrics,
      onMute: (id) => this.#pool.reportSilent(id, now()),
      report: (id, isOk) => this.#reportCheck(id, isOk),
      avoid: (id, untilMs) => this.#pool.avoid(id, untilMs, now()),
    })
  }

  #onChange({ added, changed, replaced, gone }: MemberChange): void {
    const { now, client, log, probe, onEmpty } = this.#options
    const { size } = this.#members.endpoints
    client.keepSecretsOf([...this.#members.endpoints.values()])
    for (const { id } of [...gone, ...replaced]) {
      this.#pool.remove(id, now())
      this.#shares.removed(id)
      this.#discoveries.forget(id)
    }
    for (const endpoint of changed) this.#shares.changed(endpoint)
    const isJoining = this.#discoveries.hasKnown(new Set())
    for (const endpoint of [...added, ...replaced]) {
      this.#pool.add(endpoint, now())
      this.#shares.added(endpoint, isJoining)
      // From now on, the health checks try to reach it.
      this.#discoveries.probe(endpoint).catch(() => this.#reportCheck(endpoint.id, false))
    }
    // After the new servers are in place: requests may move to them.
    for (const { id } of [...gone, ...replaced]) this.#silence.onLeft(id)
    if (this.discovery !== undefined)
      log.info({ model: probe.id, servers: size, added: added.length, gone: gone.length }, 'servers of the model changed')
    if (size === 0) onEmpty()
  }

  /** Probes a replica that was down: it may have come back as another server. From time to time, a probe takes the place of a check. */
  async #check(endpoint: Endpoint | undefined, signal: AbortSignal): Promise<void> {
    if (endpoint === undefined) return
    const known = this.#discoveries.get(endpoint.id)
    const isDown = this.#pool.stateOf(endpoint.id, this.#options.now()) !== 'closed'
    if (known === undefined || isDown) return void (await orAborted(this.#discoveries.probe(endpoint, true), signal))
    const refresh = this.#discoveries.refreshStale(endpoint)
    if (refresh === undefined || !(await orAborted(refresh, signal))) {
      const { client, now } = this.#options
      const beganMs = now()
      await client.touch(endpoint, known.upstream.profile.health, signal)
      this.#silence.learnCheck(now() - beganMs)
    }
    if (known.upstream.profile.reportsLoad) void this.#loads.read(endpoint)
  }
}

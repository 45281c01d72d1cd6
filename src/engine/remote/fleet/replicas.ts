import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { AppError, messageOf } from '../../../contract/errors.ts'
import { needsProbe, probeAbilities } from '../servers/abilities.ts'
import { type ProbeOptions, probeServer } from '../servers/probe.ts'
import { profiles } from '../servers/profiles.ts'
import { type Discovery, isSameServer, type Upstream, upstreamOf } from '../servers/upstream.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { unlessAborted } from '../transport/time-limit.ts'
import { toAppError } from '../transport/upstream-error.ts'
import { hostOf } from '../transport/upstream-url.ts'
import { startHealthChecks } from './health-check.ts'
import { type AcquireRequest, type EndpointReport, type Lease, type NoLease, Pool } from './pool.ts'

export type ReplicaOptions = {
  readonly endpoints: readonly Endpoint[]
  readonly probe: ProbeOptions
  readonly client: UpstreamClient
  readonly log: Logger
  /** Servers are asked by small requests what their kind leaves open. */
  readonly probesAbilities: boolean
  /** Milliseconds of a monotonic clock. */
  now(): number
  random(): number
}

/** A server that was asked what it is, and the right to send it one request. */
export type Place = { readonly endpoint: Endpoint; readonly upstream: Upstream; readonly lease: Lease<Endpoint> }

/** What is told of one server: how it fares, and what it was found to be. */
export type ReplicaReport = EndpointReport & { readonly discovery: Discovery | undefined }

/** How long a request waits for a server to come back before it fails, and how long it is tried again. */
export const longestWaitMs = 15_000
export const longestRetryMs = 60_000
/** How often a request that waits looks for a place. */
const lookForPlaceMs = 250
/** How often servers are asked whether they are still what they were. */
const lookEveryMs = 60_000

/** The servers of one model: what each is, which are well, and whose turn it is. */
export class Replicas {
  readonly #options: ReplicaOptions
  readonly #pool: Pool<Endpoint>
  readonly #discoveries = new Map<string, Discovery>()
  readonly #failures = new Map<string, string>()
  /** Probes under way: whoever wants to know waits for the same one. */
  readonly #probes = new Map<string, Promise<Discovery>>()
  readonly #closed = new AbortController()
  readonly #background = new Set<Promise<void>>()
  #checks: { stop(): Promise<void> } | undefined
  #looks: NodeJS.Timeout | undefined

  constructor(options: ReplicaOptions) {
    this.#options = options
    // Every probe listens to it.
    setMaxListeners(0, this.#closed.signal)
    this.#pool = new Pool(options.endpoints, { breaker: { random: options.random } })
  }

  /** What the first server that answered was found to be. */
  get discovery(): Discovery | undefined {
    for (const { id } of this.#options.endpoints) {
      const found = this.#discoveries.get(id)
      if (found !== undefined) return found
    }
    return undefined
  }

  get count(): number {
    return this.#options.endpoints.length
  }

  /** What requests are made for, of each server that has said what it is. */
  get upstreams(): readonly Upstream[] {
    return this.#options.endpoints.flatMap(({ id }) => {
      const found = this.#discoveries.get(id)
      return found === undefined ? [] : [upstreamOf(found)]
    })
  }

  /** Whether a server beside these has said what it is. */
  knowsOther(ids: ReadonlySet<string>): boolean {
    return [...this.#discoveries.keys()].some((id) => !ids.has(id))
  }

  /** Asks every server what it is and resolves with the first answer. Rejects with `model-unavailable` when none answers. */
  async discover(signal: AbortSignal): Promise<Discovery> {
    const { endpoints } = this.#options
    this.#checks ??= startHealthChecks({
      pool: this.#pool,
      check: (endpoint, stopped) => this.#check(endpoint, stopped),
      now: this.#options.now,
      wait: (ms, stopped) => sleep(ms, undefined, { signal: stopped, ref: false }).catch(() => undefined),
    })
    this.#looks ??= setInterval(() => this.#lookAgain(), lookEveryMs).unref()
    try {
      return await Promise.any(endpoints.map((endpoint) => unlessAborted(this.#probe(endpoint), signal)))
    } catch {
      signal.throwIfAborted()
      this.#closed.signal.throwIfAborted()
      const reasons = endpoints.map(({ id }) => this.#failures.get(id)).filter((reason) => reason !== undefined)
      throw new AppError('model-unavailable', [...new Set(reasons)].join('; '))
    }
  }

  /** A server for one request. Waits while none may be used, up to `waitMs`; throws `model-unavailable` after that. */
  acquire(wanted: Omit<AcquireRequest, 'nowMs'>, waitMs: number, signal: AbortSignal): Place | Promise<Place> {
    const lease = this.#lease(wanted, signal)
    if (lease.type === 'lease') {
      const discovery = this.#discoveries.get(lease.endpoint.id)
      if (discovery !== undefined) return { endpoint: lease.endpoint, lease, upstream: upstreamOf(discovery) }
    }
    return this.#acquireLater(lease, wanted, { untilMs: this.#options.now() + waitMs, signal })
  }

  #lease(wanted: Omit<AcquireRequest, 'nowMs'>, signal: AbortSignal): Lease<Endpoint> | NoLease {
    signal.throwIfAborted()
    this.throwIfClosed()
    const { exclude, ...rest } = wanted
    return this.#pool.acquire({ nowMs: this.#options.now(), exclude: this.#lessWanted(exclude), ...rest })
  }

  async #acquireLater(
    first: Lease<Endpoint> | NoLease,
    wanted: Omit<AcquireRequest, 'nowMs'>,
    { untilMs, signal }: { readonly untilMs: number; readonly signal: AbortSignal },
  ): Promise<Place> {
    for (let lease = first; ; lease = this.#lease(wanted, signal)) {
      const nowMs = this.#options.now()
      if (lease.type === 'lease') {
        const place = await this.#place(lease, signal)
        if (place !== undefined) return place
        continue
      }
      if (lease.retryAtMs > untilMs) {
        const reasons = [...this.#failures.values()]
        const why = reasons.length === 0 ? '' : `: ${[...new Set(reasons)].join('; ')}`
        throw new AppError('model-unavailable', `none of the servers behind this model can be used now${why}`, {
          retryAfterMs: Math.max(1000, Math.ceil(lease.retryAtMs - nowMs)),
        })
      }
      // A check may find before that time that a server is back.
      await this.pause(Math.min(lookForPlaceMs, Math.max(10, lease.retryAtMs - nowMs)), signal)
    }
  }

  /** Whether another server than these may be used now. */
  hasAlternative(exclude: ReadonlySet<string>): boolean {
    return this.#pool
      .describe(this.#options.now())
      .some(({ id, retryAtMs, breaker }) => !exclude.has(id) && retryAtMs === undefined && breaker === 'closed')
  }

  describe(): readonly ReplicaReport[] {
    return this.#pool.describe(this.#options.now()).map((report) => ({ ...report, discovery: this.#discoveries.get(report.id) }))
  }

  /** Throws `model-unavailable` once it was closed. */
  throwIfClosed(): void {
    this.#closed.signal.throwIfAborted()
  }

  /** Waits; throws the signal's own reason, or why it was closed. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(sleep(ms, undefined, { signal, ref: false }), this.#closed.signal)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  /** Ends the checks and the probes, and all waiting; it is not opened again. */
  async close(): Promise<void> {
    this.#closed.abort(new AppError('model-unavailable', 'the model was unloaded'))
    clearInterval(this.#looks)
    await this.#checks?.stop()
    await Promise.allSettled([...this.#probes.values(), ...this.#background])
  }

  /** Who has not said yet what it is comes last: to ask it may take as long as it is silent. The checks find out. */
  #lessWanted(exclude: ReadonlySet<string> = new Set()): ReadonlySet<string> {
    if (this.#discoveries.size === this.#options.endpoints.length) return exclude
    const unknown = this.#options.endpoints.filter(({ id }) => !this.#discoveries.has(id))
    return new Set([...exclude, ...unknown.map(({ id }) => id)])
  }

  /** Undefined when the server cannot be used after all, which its breaker knows by then. */
  async #place(lease: Lease<Endpoint>, signal: AbortSignal): Promise<Place | undefined> {
    const { endpoint } = lease
    try {
      return {
        endpoint,
        lease,
        upstream: upstreamOf(this.#discoveries.get(endpoint.id) ?? (await unlessAborted(this.#probe(endpoint), signal))),
      }
    } catch (error) {
      const reason = messageOf(error)
      this.#closed.signal.throwIfAborted()
      lease.release(signal.aborted ? { type: 'neutral' } : { type: 'failed', reason, isRefused: true }, this.#options.now())
      signal.throwIfAborted()
      return undefined
    }
  }

  #probe(endpoint: Endpoint): Promise<Discovery> {
    const underWay = this.#probes.get(endpoint.id)
    if (underWay !== undefined) return underWay
    const probe = this.#probeNow(endpoint).finally(() => this.#probes.delete(endpoint.id))
    this.#probes.set(endpoint.id, probe)
    return probe
  }

  async #probeNow(endpoint: Endpoint): Promise<Discovery> {
    const { client, probe, log } = this.#options
    const { signal } = this.#closed
    try {
      const seen = await probeServer(client, endpoint, probe, signal)
      signal.throwIfAborted()
      const known = this.#discoveries.get(endpoint.id)
      // One that was away and has no version may have come back as another one.
      const isKnown =
        known !== undefined && isSameServer(known, seen) && (seen.version !== undefined || !this.#failures.has(endpoint.id))
      this.#failures.delete(endpoint.id)
      const discovery = isKnown ? { ...seen, abilities: known.abilities } : seen
      if (isKnown && isDeepStrictEqual(discovery, known)) return known
      this.#discoveries.set(endpoint.id, discovery)
      if (!isKnown && this.#options.probesAbilities && probe.profile === undefined && needsProbe(discovery.profile)) {
        // Nobody waits for it: until it is known, the server is believed to do what OpenAI's does.
        const asking = this.#findAbilities(endpoint, discovery).finally(() => this.#background.delete(asking))
        this.#background.add(asking)
      }
      return discovery
    } catch (error) {
      if (!signal.aborted) {
        const reason = toAppError(error).message
        // Once for each reason: it is asked again every second.
        if (this.#failures.get(endpoint.id) !== reason) {
          log.warn({ model: probe.id, server: hostOf(endpoint.url), reason }, 'server not usable')
        }
        this.#failures.set(endpoint.id, reason)
      }
      throw error
    }
  }

  async #findAbilities(endpoint: Endpoint, discovery: Discovery): Promise<void> {
    const { client, log, probe } = this.#options
    try {
      const abilities = await probeAbilities({ client, endpoint, model: discovery.model, signal: this.#closed.signal })
      const now = this.#discoveries.get(endpoint.id)
      // Meanwhile it may have become another, of which this says nothing.
      if (now !== undefined && isSameServer(now, discovery)) this.#discoveries.set(endpoint.id, { ...now, abilities })
      log.info({ model: probe.id, server: hostOf(endpoint.url), ...abilities }, 'server can')
    } catch (error) {
      // Nobody waits for it, and the table says what its kind can do.
      if (!this.#closed.signal.aborted) log.warn({ model: probe.id, err: error }, 'server could not be asked what it can do')
    }
  }

  /** A server may be replaced by another version while nobody asks anything of it. */
  #lookAgain(): void {
    for (const endpoint of this.#options.endpoints) {
      // Whether it is well is for its checks and requests to say, and the failure is in the log.
      if (this.#discoveries.has(endpoint.id)) this.#probe(endpoint).catch(() => undefined)
    }
  }

  /** Also asks anew what a server is: one that was away may have come back as another. */
  async #check(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const known = this.#discoveries.get(endpoint.id)
    const isAway = this.#pool.describe(this.#options.now()).some(({ id, breaker }) => id === endpoint.id && breaker !== 'closed')
    if (known === undefined || isAway) {
      await unlessAborted(this.#probe(endpoint), signal)
      return
    }
    await this.#options.client.touch(endpoint, profiles[known.profile].health, signal)
  }
}

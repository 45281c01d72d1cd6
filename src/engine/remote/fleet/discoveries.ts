import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { Queue } from '../../../base/queue.ts'
import { hostOf } from '../../../base/text/server-url.ts'
import { messageOf } from '../../../contract/errors.ts'
import { needsProbe, probeAbilities } from '../servers/abilities.ts'
import { probePassage } from '../servers/passage.ts'
import { findProtocol, type ProbeOptions, probeServer } from '../servers/probe.ts'
import { type Discovery, isSameServer, profileOf, type Upstream, upstreamOf } from '../servers/upstream.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { toAppError } from '../transport/upstream-error.ts'

export type DiscoveryOptions = {
  /** The current servers, by id. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly probe: ProbeOptions
  readonly client: UpstreamClient
  readonly log: Logger
  /** Probes the abilities of servers of unknown kind with small requests. */
  readonly probesAbilities: boolean
  /** Called when a probe of a replica has found something out. */
  onDiscovered(id: string): void
}

/** A replica after a successful probe. Its `upstream` stays the same object until a probe finds something new. */
export type KnownReplica = { readonly discovery: Discovery; readonly upstream: Upstream }

/** The number of concurrent probes. Health checks have as many slots of their own. */
const probesAtATime = 25
/** A discovery is stale after 60 rounds of `refresh`, or later if there are many. */
const staleRounds = 60
const staleRoundsPerReplica = 0.3
/** Later than the next check of a stale one. */
const overdueFactor = 1.5

/** The discoveries of a model's replicas. A probe is shared by all callers that wait for it, and outlives them. */
export class Discoveries {
  readonly #options: DiscoveryOptions
  readonly #closed: AbortSignal
  readonly #known = new Map<string, KnownReplica>()
  /** The distinct upstreams, with the number of replicas of each. Every request reads it. */
  readonly #likes = new Map<Upstream, number>()
  #upstreams: readonly Upstream[] = []
  /** The first one in the order of the endpoints. Cleared by a change. */
  #first: KnownReplica | undefined
  /** The last one that was probed; it describes the model while no replica is known. */
  #last: KnownReplica | undefined
  readonly #queue = new Queue(probesAtATime)
  /** In which round each replica was last probed, the longest ago first. */
  readonly #probedIn = new Map<string, number>()
  #round = 0
  /** The error of each replica's last probe. */
  readonly #failures = new Map<string, string>()
  readonly #probes = new Map<string, Promise<KnownReplica>>()
  readonly #abilityProbes = new Set<Promise<void>>()

  /** `closed` ends all probes. */
  constructor(options: DiscoveryOptions, closed: AbortSignal) {
    this.#options = options
    this.#closed = closed
  }

  get(id: string): KnownReplica | undefined {
    return this.#known.get(id)
  }

  /** The discovery of the first known replica, or of the last one that was known. */
  get model(): Discovery | undefined {
    this.#first ??= this.#findFirst() ?? this.#last
    return this.#first?.discovery
  }

  /** The distinct upstreams of the known replicas: equal replicas share one object. */
  get upstreams(): readonly Upstream[] {
    return this.#upstreams.length === 0 && this.#last !== undefined ? [this.#last.upstream] : this.#upstreams
  }

  /** Whether a replica outside of this set is known. */
  hasKnown(except: ReadonlySet<string>): boolean {
    for (const id of this.#known.keys()) if (!except.has(id)) return true
    return false
  }

  /** The distinct errors of failed probes, or an empty text. */
  get failureReasons(): string {
    return [...new Set(this.#failures.values())].join('; ')
  }

  /** Probes a replica, or joins the running probe. `isCheck`: without a queue, since checks have their own limit. */
  probe(endpoint: Endpoint, isCheck = false): Promise<KnownReplica> {
    const running = this.#probes.get(endpoint.id)
    if (running !== undefined) return running
    this.#probedIn.delete(endpoint.id)
    this.#probedIn.set(endpoint.id, this.#round)
    const probing = isCheck ? this.#probeNow(endpoint) : this.#queue.run(this.#closed, () => this.#probeNow(endpoint))
    const probe = probing.finally(() => this.#probes.delete(endpoint.id))
    this.#probes.set(endpoint.id, probe)
    return probe
  }

  /**
   * To be called when a check is due. Probes a replica whose discovery is stale: a server may be replaced by another version between requests.
   * Whether it has answered: it needs no check then. Undefined: not stale.
   */
  refreshStale(endpoint: Endpoint): Promise<boolean> | undefined {
    if (this.#roundsSince(this.#probedIn.get(endpoint.id)) < this.#staleRounds) return undefined
    return this.probe(endpoint, true).then(
      () => true,
      // The failure is logged, and health is decided by checks and requests.
      () => false,
    )
  }

  /**
   * To be called every second. Probes those that have long been stale: requests, or the checks of other processes, leave them without checks.
   * `onProbed` is called for those that answer: they need no check then.
   */
  refresh(onProbed: (id: string) => void): void {
    this.#round += 1
    let most = Math.ceil(this.#known.size / this.#staleRounds)
    for (const [id, round] of this.#probedIn) {
      if (most === 0 || this.#roundsSince(round) < overdueFactor * this.#staleRounds) break
      most -= 1
      const endpoint = this.#options.endpoints.get(id)
      if (endpoint !== undefined)
        this.probe(endpoint).then(
          () => onProbed(id),
          () => undefined,
        )
    }
  }

  /** Forgets a replica that has left. */
  forget(id: string): void {
    this.#failures.delete(id)
    this.#probedIn.delete(id)
    const known = this.#known.get(id)
    if (known === undefined) return
    this.#known.delete(id)
    this.#count(known.upstream, -1)
  }

  /** Resolves when no probe is running. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#probes.values(), ...this.#abilityProbes])
  }

  get #staleRounds(): number {
    return Math.max(staleRounds, this.#known.size * staleRoundsPerReplica)
  }

  #roundsSince(round = this.#round): number {
    return this.#round - round
  }

  async #probeNow(endpoint: Endpoint): Promise<KnownReplica> {
    try {
      const like = this.#likeOf(endpoint)
      const known = this.#known.get(endpoint.id)?.discovery
      const probe = {
        ...this.#options.probe,
        ...(like !== undefined && { like }),
        ...(known !== undefined && { known }),
      }
      const found = await probeServer(this.#options.client, endpoint, probe, this.#closed)
      this.#closed.throwIfAborted()
      if (found === like) {
        this.#failures.delete(endpoint.id)
        return this.#set(endpoint, found)
      }
      return this.#remember(endpoint, await this.#withProtocol(endpoint, found))
    } catch (error) {
      if (!this.#closed.aborted) this.#onFailure(endpoint, toAppError(error).message)
      throw error
    }
  }

  /**
   * A discovery to compare a new server with. Undefined for a server that was known before, which may have come back as another one, and
   * for a router, whose engines are probed.
   */
  #likeOf({ id, isRouter }: Endpoint): Discovery | undefined {
    const last = this.#last?.discovery
    return this.#known.has(id) || isRouter === true || last?.passes !== undefined ? undefined : last
  }

  /** A server of unknown kind may lack chat completions: it is asked once. */
  async #withProtocol(endpoint: Endpoint, found: Discovery): Promise<Discovery> {
    const { client, probe, probesAbilities } = this.#options
    if (!probesAbilities || probe.protocol !== undefined || probe.profile !== undefined || !needsProbe(found.profile))
      return found
    const before = this.#known.get(endpoint.id)?.discovery
    const wasDown = this.#failures.has(endpoint.id)
    if (before !== undefined && !wasDown && before.profile === found.profile && before.version === found.version)
      return { ...found, protocol: before.protocol }
    return { ...found, protocol: await findProtocol({ client, endpoint, model: found.model, signal: this.#closed }) }
  }

  #remember(endpoint: Endpoint, found: Discovery): KnownReplica {
    const { probesAbilities, probe } = this.#options
    const before = this.#known.get(endpoint.id)
    const wasDown = this.#failures.delete(endpoint.id)
    // A server that reports no version may have come back as another one.
    const isSame = before !== undefined && isSameServer(before.discovery, found) && (found.version !== undefined || !wasDown)
    const discovery = isSame ? { ...found, ...observedOf(before.discovery) } : found
    if (isSame && isDeepStrictEqual(discovery, before.discovery)) return before
    const { unlisted } = discovery
    if (unlisted !== undefined && unlisted !== before?.discovery.unlisted) {
      this.#options.log.warn(
        { model: probe.id, server: hostOf(endpoint.url), reason: unlisted },
        'model not listed by the server',
      )
    }
    const known = this.#set(endpoint, discovery)
    const isUnknown = probe.profile === undefined && needsProbe(discovery.profile)
    const isRouter = endpoint.isRouter === true
    if (!isSame && probesAbilities && discovery.protocol === 'chat' && (isUnknown || isRouter)) {
      // Runs in the background. Until it is done, the server is treated by the profile of its kind.
      const finding = this.#findAbilities(endpoint, discovery, { isUnknown, isRouter })
      const probing = finding.finally(() => this.#abilityProbes.delete(probing))
      this.#abilityProbes.add(probing)
    }
    return known
  }

  #set(endpoint: Endpoint, discovery: Discovery): KnownReplica {
    const found = upstreamOf(discovery)
    const upstream = this.upstreams.find((other) => isDeepStrictEqual(other, found)) ?? found
    const known = { discovery, upstream }
    this.#last = known
    // It may have left meanwhile.
    if (!this.#options.endpoints.has(endpoint.id)) return known
    const before = this.#known.get(endpoint.id)
    this.#known.set(endpoint.id, known)
    this.#count(upstream, 1)
    if (before !== undefined) this.#count(before.upstream, -1)
    this.#options.onDiscovered(endpoint.id)
    return known
  }

  #count(upstream: Upstream, by: 1 | -1): void {
    this.#first = undefined
    const before = this.#likes.get(upstream) ?? 0
    if (before + by === 0) this.#likes.delete(upstream)
    else this.#likes.set(upstream, before + by)
    if (before === 0 || before + by === 0) this.#upstreams = [...this.#likes.keys()]
  }

  #findFirst(): KnownReplica | undefined {
    for (const id of this.#options.endpoints.keys()) {
      const known = this.#known.get(id)
      if (known !== undefined) return known
    }
    return undefined
  }

  #onFailure({ id, url }: Endpoint, reason: string): void {
    // A replica that is down is probed every second: each reason is logged once.
    if (this.#failures.get(id) !== reason) {
      this.#options.log.warn({ model: this.#options.probe.id, server: hostOf(url), reason }, 'server not usable')
    }
    this.#failures.set(id, reason)
  }

  async #findAbilities(endpoint: Endpoint, discovery: Discovery, { isUnknown, isRouter }: Wanted): Promise<void> {
    const { client, log, probe } = this.#options
    const server = { client, endpoint, model: discovery.model, signal: this.#closed }
    try {
      const abilities = isUnknown ? await probeAbilities(server) : discovery.abilities
      const profile = profileOf({ ...discovery, abilities })
      const passes = isRouter ? await probePassage({ ...server, profile }) : undefined
      const observed = { abilities, ...(passes !== undefined && { passes }) }
      // The server may have been replaced meanwhile, and others may have adopted its discovery.
      for (const [id, { discovery: now }] of [...this.#known]) {
        const other = this.#options.endpoints.get(id)
        if (other === undefined || !isSameServer(now, discovery)) continue
        const isTakenForIt = other.isRouter !== true && isDeepStrictEqual(now.abilities, discovery.abilities)
        if (id === endpoint.id || isTakenForIt) this.#set(other, { ...now, ...observed })
      }
      log.info(
        { model: probe.id, server: hostOf(endpoint.url), ...abilities, ...(passes && { passes }) },
        'abilities of the server',
      )
    } catch (error) {
      // The profile of its kind stays in force.
      if (!this.#closed.aborted)
        log.warn({ model: probe.id, reason: messageOf(error) }, 'the abilities of the server could not be probed')
    }
  }
}

/** The facts to find out that a server does not report itself. */
type Wanted = { readonly isUnknown: boolean; readonly isRouter: boolean }

/** The results of earlier small requests, which need not be repeated. */
function observedOf({ abilities, passes }: Discovery): Pick<Discovery, 'abilities' | 'passes'> {
  return { abilities, ...(passes !== undefined && { passes }) }
}

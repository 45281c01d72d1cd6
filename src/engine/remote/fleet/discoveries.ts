import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { messageOf } from '../../../contract/errors.ts'
import { needsProbe, probeAbilities } from '../servers/abilities.ts'
import { probePassage } from '../servers/passage.ts'
import { findProtocol, type ProbeOptions, probeServer } from '../servers/probe.ts'
import { type Discovery, isSameServer, profileOf, type Upstream, upstreamOf } from '../servers/upstream.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { toAppError } from '../transport/upstream-error.ts'
import { hostOf } from '../transport/upstream-url.ts'

export type DiscoveryOptions = {
  readonly endpoints: readonly Endpoint[]
  readonly probe: ProbeOptions
  readonly client: UpstreamClient
  readonly log: Logger
  /** Servers of unknown kind are probed with small requests. */
  readonly probesAbilities: boolean
  /** Called whenever a probe has found out what a replica is. */
  onDiscovered(id: string): void
}

/** A replica after a successful probe. Its `upstream` stays the same object until a probe finds something new. */
export type KnownReplica = { readonly discovery: Discovery; readonly upstream: Upstream }

/** What each replica of a model is. A probe is shared by all who wait for it, and outlives them. */
export class Discoveries {
  readonly #options: DiscoveryOptions
  readonly #closed: AbortSignal
  readonly #known = new Map<string, KnownReplica>()
  /** The same in the order of the endpoints, and what is different among them: every request reads it. Absent after a change. */
  #inOrder: { readonly known: readonly KnownReplica[]; readonly upstreams: readonly Upstream[] } | undefined
  /** Why the last probe of a replica failed. */
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

  /** Known replicas, in the order of the endpoints. */
  get known(): readonly KnownReplica[] {
    return this.#ordered().known
  }

  /** What known replicas are, each kind once: replicas that are alike have the same object. */
  get upstreams(): readonly Upstream[] {
    return this.#ordered().upstreams
  }

  /** Whether a replica is known that is not among these. */
  hasKnown(except: ReadonlySet<string>): boolean {
    for (const id of this.#known.keys()) if (!except.has(id)) return true
    return false
  }

  /** Why probes failed, each reason once; empty when none did. */
  get failureReasons(): string {
    return [...new Set(this.#options.endpoints.flatMap(({ id }) => this.#failures.get(id) ?? []))].join('; ')
  }

  /** Probes a replica, or joins the probe that is running. */
  probe(endpoint: Endpoint): Promise<KnownReplica> {
    const running = this.#probes.get(endpoint.id)
    if (running !== undefined) return running
    const probe = this.#probeNow(endpoint).finally(() => this.#probes.delete(endpoint.id))
    this.#probes.set(endpoint.id, probe)
    return probe
  }

  /** Probes all known replicas again: a server may be replaced by another version between requests. */
  refresh(): void {
    for (const endpoint of this.#options.endpoints) {
      // The failure is in the log, and health is a matter of checks and requests.
      if (this.#known.has(endpoint.id)) this.probe(endpoint).catch(() => undefined)
    }
  }

  /** Resolves when no probe is running. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#probes.values(), ...this.#abilityProbes])
  }

  async #probeNow(endpoint: Endpoint): Promise<KnownReplica> {
    try {
      const found = await probeServer(this.#options.client, endpoint, this.#options.probe, this.#closed)
      this.#closed.throwIfAborted()
      return this.#remember(endpoint, await this.#withProtocol(endpoint, found))
    } catch (error) {
      if (!this.#closed.aborted) this.#onFailure(endpoint, toAppError(error).message)
      throw error
    }
  }

  /** A server of unknown kind may lack chat completions; it is asked once. */
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
      // In the background: until it is done, the server is treated as its kind is.
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
    this.#known.set(endpoint.id, known)
    this.#inOrder = undefined
    this.#options.onDiscovered(endpoint.id)
    return known
  }

  #ordered() {
    if (this.#inOrder === undefined) {
      const known = this.#options.endpoints.flatMap(({ id }) => this.#known.get(id) ?? [])
      this.#inOrder = { known, upstreams: [...new Set(known.map(({ upstream }) => upstream))] }
    }
    return this.#inOrder
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
      const now = this.#known.get(endpoint.id)?.discovery
      const observed = { abilities, ...(passes !== undefined && { passes }) }
      // The server may have been replaced meanwhile.
      if (now !== undefined && isSameServer(now, discovery)) this.#set(endpoint, { ...now, ...observed })
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

/** What is to be found out besides what a server says of itself. */
type Wanted = { readonly isUnknown: boolean; readonly isRouter: boolean }

/** What small requests have shown, which need not be sent again. */
function observedOf({ abilities, passes }: Discovery): Pick<Discovery, 'abilities' | 'passes'> {
  return { abilities, ...(passes !== undefined && { passes }) }
}

import type { WatchedSet } from '../../../../base/watched-set.ts'
import type { EjectionReason } from '../../../../contract/attempts.ts'
import type { Endpoint } from '../../transport/client.ts'

/** A replica that is new or back begins with the fraction `from` of its weight, and reaches all of it after `ms`. */
export type WarmUp = { readonly ms: number; readonly from: number }

type SharesOptions = {
  readonly pool: {
    setDraining(id: string, isDraining: boolean, nowMs: number): void
    setWeight(id: string, weight: number, nowMs: number): void
    setFar(id: string, isFar: boolean, nowMs: number): void
    /** The state of its breaker. */
    stateOf(id: string, nowMs: number): 'closed' | 'open' | 'half-open'
  }
  /** The ids of replicas that an operator has taken out of use. */
  readonly drains: WatchedSet<string>
  /** Undefined: no warm-up. */
  readonly warmUp: WarmUp | undefined
  now(): number
}

type Warming = { readonly weight: number; isReached: boolean; sinceMs: number | undefined }

/** The fraction of its weight that a replica has this long after its return. */
export function warmUpShare(elapsedMs: number, { ms, from }: WarmUp): number {
  return Math.min(1, from + ((1 - from) * Math.max(0, elapsedMs)) / ms)
}

/** The share of the load of each replica: its weight, less while it warms up, and no new requests while it drains. */
export class Shares {
  readonly #options: SharesOptions
  readonly #warming = new Map<string, Warming>()
  readonly #weights = new Map<string, number>()
  readonly close: () => void

  constructor(options: SharesOptions) {
    this.#options = options
    this.close = options.drains.listen((id) => this.#drain(id))
  }

  /** To be called for a new replica. `isNew`: other replicas already answer requests. */
  added({ id, weight }: Endpoint, isNew: boolean): void {
    this.#weights.set(id, weight)
    this.#drain(id)
    if (isNew) this.#cool(id, false)
  }

  changed({ id, weight, isFar }: Endpoint): void {
    this.#options.pool.setFar(id, isFar === true, this.#options.now())
    this.#weights.set(id, weight)
    const warming = this.#warming.get(id)
    if (warming !== undefined) this.#warming.set(id, { ...warming, weight })
    if (warming === undefined) this.#options.pool.setWeight(id, weight, this.#options.now())
    else this.#weigh(id)
  }

  /** Another server may get its address one day. */
  removed(id: string): void {
    this.#weights.delete(id)
    this.#warming.delete(id)
    this.#options.drains.set(id, false)
  }

  /** A server that fails requests stays warm; one that was unreachable may have restarted. */
  ejected(id: string, reason: EjectionReason): void {
    if (reason !== 'failures') this.#cool(id, true)
  }

  /** To be called when a probe has reached it. */
  reached(id: string): void {
    const warming = this.#warming.get(id)
    if (warming !== undefined) warming.isReached = true
  }

  /** To be called every second. */
  tick(): void {
    const { pool, now } = this.#options
    for (const [id, warming] of this.#warming) {
      if (warming.sinceMs === undefined && (!warming.isReached || pool.stateOf(id, now()) !== 'closed')) continue
      warming.sinceMs ??= now()
      this.#weigh(id)
    }
  }

  #drain(id: string): void {
    const { pool, drains, now } = this.#options
    pool.setDraining(id, drains.has(id), now())
  }

  #cool(id: string, isReached: boolean): void {
    const weight = this.#weights.get(id)
    if (this.#options.warmUp === undefined || weight === undefined) return
    this.#warming.set(id, { weight, isReached, sinceMs: undefined })
    this.#weigh(id)
  }

  #weigh(id: string): void {
    const { pool, warmUp, now } = this.#options
    const warming = this.#warming.get(id)
    if (warming === undefined || warmUp === undefined) return
    const { weight, sinceMs } = warming
    const share = sinceMs === undefined ? warmUp.from : warmUpShare(now() - sinceMs, warmUp)
    pool.setWeight(id, weight * share, now())
    if (share === 1) this.#warming.delete(id)
  }
}

import { IndexedHeap } from './indexed-heap.ts'
import { loadOf, type Member, type PoolEndpoint, tokensOf } from './member.ts'

/**
 * `free`: may be used. `unknown`: the same, but no probe has reached it. `busy`: asked for a pause. `blocked`: its breaker admits nothing.
 * `out`: draining or removed.
 */
type Standing = 'free' | 'unknown' | 'busy' | 'blocked' | 'out'

type Entry = {
  readonly standing: Standing
  readonly tokens: number
  readonly weight: number
  readonly isFar: boolean
  readonly wakesAtMs: number
}

/** The endpoints of this zone are preferred until their mean load is this many times that of all. */
const nearBound = 4

/** Which endpoints may be used now, ordered by load. Updated by events: a query does not visit every endpoint. */
export class Standings<Endpoint extends PoolEndpoint> {
  readonly #entries = new Map<Member<Endpoint>, Entry>()
  /** By load. */
  readonly #heaps: Readonly<Record<'free' | 'unknown' | 'blocked', IndexedHeap<Member<Endpoint>>>> = {
    free: new IndexedHeap<Member<Endpoint>>(isLessLoaded),
    unknown: new IndexedHeap<Member<Endpoint>>(isLessLoaded),
    blocked: new IndexedHeap<Member<Endpoint>>(isLessLoaded),
  }
  readonly #busy = new IndexedHeap<Member<Endpoint>>((a, b) => a.busyUntilMs < b.busyUntilMs)
  /** Endpoints whose standing will change by time alone. */
  readonly #sleeping = new IndexedHeap<Member<Endpoint>>((a, b) => this.#wakesAtMs(a) < this.#wakesAtMs(b))
  /** The free endpoints of this zone, and all others. */
  readonly #near = { count: 0, tokens: 0, weight: 0 }
  readonly #far = { count: 0, tokens: 0, weight: 0 }

  /** Whether a free endpoint is in another zone. */
  get hasFar(): boolean {
    return this.#far.count > 0
  }

  /** The outstanding tokens of the free endpoints, by weight: for one of this zone, that of its zone, if the zone has not much more to do. */
  meanFor({ isFar }: Member<Endpoint>): number {
    const { weight } = this.#near
    const all = mean(this.#near.tokens + this.#far.tokens, weight + this.#far.weight)
    return isFar ? all : Math.min(mean(this.#near.tokens, weight), nearBound * all)
  }

  /** To be called after every event of the endpoint. */
  update(member: Member<Endpoint>, nowMs: number): void {
    const before = this.#entries.get(member)
    const { standing, wakesAtMs } = standingOf(member, nowMs)
    const after = { standing, wakesAtMs, tokens: tokensOf(member), weight: member.weight, isFar: member.isFar }
    if (before?.standing === 'free') this.#count(before, -1)
    if (standing === 'free') this.#count(after, 1)
    if (before !== undefined && before.standing !== standing) this.#heapOf(before.standing)?.remove(member)
    if (standing === 'out') this.#entries.delete(member)
    else this.#entries.set(member, after)
    this.#heapOf(standing)?.put(member)
    if (Number.isFinite(wakesAtMs)) this.#sleeping.put(member)
    else this.#sleeping.remove(member)
  }

  /** Updates the standings to this time. */
  wake(nowMs: number): void {
    for (let next = this.#sleeping.first; next !== undefined; next = this.#sleeping.first) {
      if (this.#wakesAtMs(next) > nowMs) return
      this.update(next, nowMs)
    }
  }

  isFree(member: Member<Endpoint>): boolean {
    return this.#entries.get(member)?.standing === 'free'
  }

  /** Its outstanding tokens by weight. */
  loadOf(member: Member<Endpoint>): number {
    return loadOf(member)
  }

  /** The least loaded endpoint that may be used, is known, and fits. */
  free(fits: (member: Member<Endpoint>) => boolean): Member<Endpoint> | undefined {
    return this.#heaps.free.firstWhere(fits)
  }

  /** The same, known or not. */
  freeOrUnknown(fits: (member: Member<Endpoint>) => boolean): Member<Endpoint> | undefined {
    const known = this.#heaps.free.firstWhere(fits)
    const unknown = this.#heaps.unknown.firstWhere(fits)
    if (known === undefined || unknown === undefined) return known ?? unknown
    return isLessLoaded(unknown, known) ? unknown : known
  }

  /** The endpoint whose pause ends first. */
  busy(fits: (member: Member<Endpoint>) => boolean): Member<Endpoint> | undefined {
    return this.#busy.firstWhere(fits)
  }

  /** The least loaded endpoint whose breaker admits nothing. */
  blocked(fits: (member: Member<Endpoint>) => boolean): Member<Endpoint> | undefined {
    return this.#heaps.blocked.firstWhere(fits)
  }

  /** When the next one that fits wakes. Undefined if no endpoint will by time alone. */
  nextWakeMs(fits: (member: Member<Endpoint>) => boolean): number | undefined {
    const next = this.#sleeping.firstWhere(fits)
    return next === undefined ? undefined : this.#wakesAtMs(next)
  }

  #wakesAtMs(member: Member<Endpoint>): number {
    return this.#entries.get(member)?.wakesAtMs ?? Number.POSITIVE_INFINITY
  }

  #heapOf(standing: Standing): IndexedHeap<Member<Endpoint>> | undefined {
    if (standing === 'out') return undefined
    return standing === 'busy' ? this.#busy : this.#heaps[standing]
  }

  #count({ tokens, weight, isFar }: Entry, sign: 1 | -1): void {
    const zone = isFar ? this.#far : this.#near
    zone.count += sign
    zone.tokens += sign * tokens
    // Clears the rounding errors of adding and subtracting fractions.
    zone.weight = zone.count === 0 ? 0 : zone.weight + sign * weight
  }
}

function standingOf(member: Member, nowMs: number): { readonly standing: Standing; readonly wakesAtMs: number } {
  const never = Number.POSITIVE_INFINITY
  if (member.isRemoved || member.isDraining) return { standing: 'out', wakesAtMs: never }
  const { admitsFromMs } = member.breaker
  if (admitsFromMs > nowMs) return { standing: 'blocked', wakesAtMs: admitsFromMs }
  if (member.busyUntilMs > nowMs) return { standing: 'busy', wakesAtMs: member.busyUntilMs }
  return { standing: member.isKnown ? 'free' : 'unknown', wakesAtMs: never }
}

function mean(tokens: number, weight: number): number {
  return weight === 0 ? 0 : tokens / weight
}

function isLessLoaded(a: Member, b: Member): boolean {
  const difference = loadOf(a) - loadOf(b)
  return difference === 0 ? a.lastTurn < b.lastTurn : difference < 0
}

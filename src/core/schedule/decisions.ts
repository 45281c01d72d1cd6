import { ChurnSet } from '../../base/churn.ts'
import type { QueuePosition, RequestCost, SchedulerLoad } from '../../contract/scheduler.ts'
import { findDisplaced } from './displace.ts'
import { DrainRate } from './drain-rate.ts'
import type { Entry } from './entry.ts'
import { FairQueue } from './fair-queue.ts'

/** What to do: a request gets a slot, or is refused, `displaced` by one whose caller has fewer in the queue; or it is asked for its slot. */
export type Effect =
  | { readonly type: 'grant'; readonly entry: Entry }
  | { readonly type: 'want'; readonly entry: Entry }
  | {
      readonly type: 'refuse'
      readonly entry: Entry
      readonly reason: 'full' | 'displaced'
      readonly retryAfterMs: number
    }

type Limits = {
  readonly slots: number
  /**
   * Background requests begin only while fewer requests than this run: more would wait in the server behind the model, where others cannot
   * go first. `interactive`: of that lane, those that run. Absent: `slots`.
   */
  backgroundSlots?(interactive: number): number
  /** Requests that may wait in addition. */
  readonly maxQueued: number
}

/** While interactive requests wait, a background request runs after every this many of them. */
const interactivePerBackground = 8
/** The advice until something was measured. */
const firstRetryMs = 1000

/**
 * All rules of a model's scheduler, without clocks and promises: each method takes an event and returns what to do. Only `release` and
 * `leave` give back a slot, when the engine has stopped.
 */
export class Decisions {
  readonly #limits: Limits
  readonly #rate: DrainRate
  readonly #lanes = { interactive: new FairQueue<Entry>(), background: new FairQueue<Entry>() }
  readonly #present = new ChurnSet<Entry>()
  /** Present requests without a slot, by lane. */
  readonly #notRunning = { interactive: 0, background: 0 }
  readonly #running = { interactive: 0, background: 0 }
  #refused = 0
  #sinceBackground = 0
  /** Refused requests that may return, at most one for each slot that has become free since. */
  #expected = 0

  constructor(limits: Limits) {
    this.#limits = limits
    this.#rate = new DrainRate(limits.slots)
  }

  get load(): SchedulerLoad {
    const lanes = { ...this.#notRunning }
    const queued = lanes.interactive + lanes.background
    const { slots } = this.#limits
    const backgroundSlots = this.#backgroundSlots
    const limited = backgroundSlots < slots && { backgroundSlots }
    return { slots, ...limited, busy: this.#busy, queued, lanes, refused: this.#refused }
  }

  /** No request is here, running or not. */
  get isIdle(): boolean {
    return this.#present.size === 0
  }

  /** A request arrives. In a full queue it is refused, or displaces one that has not begun. */
  enter(entry: Entry, nowMs: number): readonly Effect[] {
    const { slots, maxQueued } = this.#limits
    if (this.#present.size < slots + maxQueued) {
      this.#add(entry)
      return []
    }
    const unstarted = [...this.#present].filter(({ state, hasRun }) => state !== 'running' && !hasRun)
    const displaced = findDisplaced(unstarted, entry)
    this.#refused += 1
    this.#expected = Math.min(this.#expected + 1, this.#present.size)
    const retryAfterMs = this.#rate.waitMs(this.#expected, nowMs) ?? firstRetryMs
    if (displaced === undefined) {
      entry.state = 'gone'
      return [{ type: 'refuse', entry, reason: 'full', retryAfterMs }]
    }
    this.#remove(displaced)
    this.#add(entry)
    return [{ type: 'refuse', entry: displaced, reason: 'displaced', retryAfterMs }]
  }

  ask(entry: Entry, cost: RequestCost, nowMs: number): readonly Effect[] {
    entry.state = 'waiting'
    this.#lanes[entry.lane].add(entry, cost)
    const effects = this.#grant(nowMs)
    const isLate = entry.state === 'waiting' || this.#busy > this.#backgroundSlots
    const wanted = isLate && entry.lane === 'interactive' ? this.#latestThatYields(effects) : undefined
    return wanted === undefined ? effects : [...effects, { type: 'want', entry: wanted }]
  }

  /** The slots of background requests may have become fewer: those that are too many are asked for theirs. */
  shrink(): readonly Effect[] {
    const effects: Effect[] = []
    for (let count = this.#busy - this.#backgroundSlots; count > 0; count -= 1) {
      const entry = this.#latestThatYields(effects)
      if (entry !== undefined) effects.push({ type: 'want', entry })
    }
    return effects
  }

  /** A request stops waiting for its slot, but does not leave. */
  abandon(entry: Entry): void {
    if (entry.state !== 'waiting') return
    entry.state = 'outside'
    this.#lanes[entry.lane].remove(entry)
  }

  charge(entry: Entry, tokens: number): void {
    entry.usedTokens += tokens
  }

  /** A request gives back its slot, if it has one. */
  release(entry: Entry, nowMs: number): readonly Effect[] {
    if (entry.state !== 'running') return []
    entry.state = 'outside'
    this.#running[entry.lane] -= 1
    this.#notRunning[entry.lane] += 1
    this.#expected = Math.max(0, this.#expected - 1)
    this.#rate.released(entry.grantedAtMs, nowMs)
    this.#lanes[entry.lane].end(entry, entry.usedTokens)
    entry.usedTokens = 0
    return this.#grant(nowMs)
  }

  leave(entry: Entry, nowMs: number): readonly Effect[] {
    const effects = this.release(entry, nowMs)
    this.#remove(entry)
    return effects
  }

  /** A request's position in the queue; undefined if it does not wait. */
  placeOf(entry: Entry, nowMs: number): QueuePosition | undefined {
    if (entry.state !== 'waiting') return undefined
    const position = this.#before(entry) + 1
    const estimatedWaitMs = this.#rate.waitMs(position, nowMs)
    return { position, ...(estimatedWaitMs !== undefined && { estimatedWaitMs }) }
  }

  #add(entry: Entry): void {
    this.#present.add(entry)
    this.#notRunning[entry.lane] += 1
  }

  /** Removes a request without a slot. */
  #remove(entry: Entry): void {
    this.abandon(entry)
    entry.state = 'gone'
    if (this.#present.delete(entry)) this.#notRunning[entry.lane] -= 1
  }

  #grant(nowMs: number): readonly Effect[] {
    const effects: Effect[] = []
    while (this.#busy < this.#limits.slots) {
      const entry = this.#next()
      if (entry === undefined) break
      entry.state = 'running'
      entry.hasRun = true
      entry.grantedAtMs = nowMs
      this.#running[entry.lane] += 1
      this.#notRunning[entry.lane] -= 1
      this.#rate.granted(nowMs)
      effects.push({ type: 'grant', entry })
    }
    return effects
  }

  /** The background request that loses least by giving up its slot: the last that began, but none that has begun or was asked just now. */
  #latestThatYields(now: readonly Effect[]): Entry | undefined {
    if (this.#running.background === 0) return undefined
    const without = new Set(now.map(({ entry }) => entry))
    const able = [...this.#present].filter(
      (one) => one.state === 'running' && one.lane === 'background' && one.onWanted !== undefined && !without.has(one),
    )
    return able.reduce<Entry | undefined>(
      (latest, one) => (latest !== undefined && latest.grantedAtMs > one.grantedAtMs ? latest : one),
      undefined,
    )
  }

  get #busy(): number {
    return this.#running.interactive + this.#running.background
  }

  get #backgroundSlots(): number {
    const { slots, backgroundSlots } = this.#limits
    return Math.min(slots, backgroundSlots?.(this.#running.interactive) ?? slots)
  }

  #next(): Entry | undefined {
    const { interactive, background } = this.#lanes
    if (background.waiting === 0) {
      this.#sinceBackground = 0
      return interactive.take()
    }
    if (interactive.waiting > 0 && this.#sinceBackground < interactivePerBackground) {
      this.#sinceBackground += 1
      return interactive.take()
    }
    if (this.#busy >= this.#backgroundSlots && this.#sinceBackground < interactivePerBackground) return undefined
    this.#sinceBackground = 0
    return background.take()
  }

  /** How many waiting requests come before this one. */
  #before(entry: Entry): number {
    const { interactive, background } = this.#lanes
    const inLane = this.#lanes[entry.lane].countBefore(entry)
    if (entry.lane === 'interactive') {
      const turns = Math.floor((this.#sinceBackground + inLane) / interactivePerBackground)
      return inLane + Math.min(background.waiting, turns)
    }
    const needed = interactivePerBackground * (inLane + 1) - this.#sinceBackground
    return inLane + Math.min(interactive.waiting, needed)
  }
}

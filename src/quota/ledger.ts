import { setTimeout as pause } from 'node:timers/promises'
import { steadyMs } from '../base/steady-ms.ts'
import { minuteMs, type Settlement, type Share, type Usage, unused } from '../contract/quota.ts'
import type { Gate } from './gates.ts'
import { inPeriod } from './minute-counter.ts'
import { partOf, type Rank } from './part.ts'
import { covers, isNone, least, minus, most, none, plus, type Units } from './units.ts'

export type AccountLimits = Pick<Gate, 'requestsPerMinute' | 'tokensPerMinute' | 'untilMs'>

/** A change that the shared counter does not know yet. */
type Owed = {
  readonly settlement: Required<Settlement>
  /** The period began here, until the end of a day or a month, or for a minute. */
  readonly begun?: { readonly untilMs?: number }
}

/**
 * One account as one process sees it: what the shared counter has last said, and the process' lease: what is counted there for it and not
 * yet used. A negative lease is used, and not yet counted.
 */
export class Ledger {
  readonly pace = new Pace()
  /** The question about this account that runs: there is one at a time. */
  asking: Promise<void> | undefined
  /** How many questions for more have been sent. */
  sent = 0
  readonly waiting = new Set<Units>()
  #usage = unused
  #lease: Units = none
  /** Sent to the shared counter, and not yet in the usage. */
  #unlearned: Units = none
  /** The period began here, and the shared counter may not know it. */
  #isLocal = false
  /** The period's name here, before the shared counter gave it one. */
  #localMinute: number | undefined
  #hasEndedStretch = false
  /** What was used in this second, and in the last one. */
  #used: readonly [now: Units, before: Units] = [none, none]
  readonly #untilMs: number | undefined

  /** `untilMs`: the end of a day or a month; absent: the account counts minutes. */
  constructor(untilMs: number | undefined) {
    this.#untilMs = untilMs
  }

  /** The usage as this process may count on it: where several processes share an account, all that is not its part is used. */
  view({ requestsPerMinute = 0, tokensPerMinute = 0 }: AccountLimits, rank: Rank): Usage {
    this.#roll()
    const { requests, tokens, ...period } = this.#usage
    const others = {
      requests: requestsPerMinute - partOf(requestsPerMinute - requests, rank),
      tokens: tokensPerMinute - partOf(tokensPerMinute - tokens, rank),
    }
    const isStretched = period.isStretched || rank.rank > 0
    return {
      ...period,
      ...plus(minus(others, this.#lease), this.#unlearned),
      isStretched,
      ...(rank.count > 1 && { among: rank.count }),
    }
  }

  covers(share: Share): boolean {
    this.#roll()
    return covers(this.#lease, share)
  }

  /** The rest of it, beyond the lease. */
  lackOf(share: Share): Units {
    return most(none, minus(share, this.#lease))
  }

  use(share: Share): void {
    this.#lease = minus(this.#lease, share)
    this.#used = [plus(this.#used[0], share), this.#used[1]]
  }

  /** As `use`, of what the shared counter does not know of. */
  useAlone(share: Share): void {
    this.#roll()
    this.use(share)
    if (this.#usage.minute === unused.minute) {
      const endsAtMs = steadyMs() + (this.#untilMs === undefined ? minuteMs : this.#untilMs - Date.now())
      this.#usage = { ...unused, minute: this.#untilMs ?? endsAtMs, endsAtMs }
      this.#isLocal = true
    }
    if (share.isStretched) this.#usage = { ...this.#usage, isStretched: true }
  }

  settle({ tokens, requests = 0, isStretched, minute }: Settlement): void {
    this.#roll()
    const isSame = minute === this.#usage.minute || minute === this.#localMinute
    if (isSame) this.#lease = minus(this.#lease, { requests, tokens })
    else this.#lease = minus(this.#lease, { requests: 0, tokens: Math.max(0, tokens) })
    if (!isSame || !isStretched) return
    this.#hasEndedStretch = true
    this.#usage = { ...this.#usage, isStretched: false }
  }

  /** Replaces the usage by an answer of the shared counter, to which `added` came with it. */
  learn(usage: Usage, added: Units = none): void {
    const isOther = usage.minute !== this.#usage.minute && this.#usage.minute !== unused.minute
    if (isOther && this.#isLocal) this.#localMinute = this.#usage.minute
    else if (isOther) this.#lease = none
    this.#usage = usage
    this.#isLocal = false
    this.#unlearned = none
    this.#lease = plus(this.#lease, added)
  }

  /** A larger lease; the usage stays what it was. */
  add(units: Units): void {
    this.#lease = plus(this.#lease, units)
  }

  /**
   * What to ask for: for those that wait, first come, first served, and of a hot account twice what it used in a second, of which all
   * processes together take half of the rest at most.
   */
  wish({ requestsPerMinute = Infinity, tokensPerMinute = Infinity }: AccountLimits, processes: number): Units {
    const left = minus({ requests: requestsPerMinute, tokens: tokensPerMinute }, this.#usage)
    const room = plus(left, this.#lease)
    let wanted = none
    for (const share of this.waiting) {
      const more = plus(wanted, share)
      if (covers(room, more)) wanted = more
    }
    const rest = minus(left, wanted)
    const recent = most(...this.#used)
    const sliceOf = (units: number) => Math.floor(units / (2 * processes))
    const slice = { requests: sliceOf(rest.requests), tokens: sliceOf(rest.tokens) }
    if (this.pace.isHot) wanted = plus(wanted, most(none, least(slice, plus(recent, recent))))
    return isNone(wanted) ? none : most(none, minus(wanted, this.#lease))
  }

  /** Whether a hot account will soon have to wait for more. */
  get runsLow(): boolean {
    const [now, before] = this.#used
    const recent = most(now, before)
    const isLow = (unit: keyof Units) => recent[unit] > 0 && this.#lease[unit] < recent[unit] / 2
    return (isLow('requests') || isLow('tokens')) && this.pace.isHot
  }

  /** A second is over. Returns whether the account was used lately. */
  tick(): boolean {
    const wasUsed = this.#used.some((used) => !isNone(used))
    this.#used = [none, this.#used[0]]
    return wasUsed
  }

  /** Takes what the shared counter must be told from the lease, of which a hot account keeps what it soon uses. Undefined: nothing. */
  owed(): Owed | undefined {
    this.#roll()
    const kept = this.pace.isHot ? most(none, least(this.#lease, most(...this.#used))) : none
    const change = minus(kept, this.#lease)
    if (isNone(change) && !this.#hasEndedStretch) return undefined
    const minute = this.#usage.minute
    const settlement = { ...change, isStretched: this.#hasEndedStretch, minute }
    this.#lease = kept
    this.#unlearned = plus(this.#unlearned, change)
    this.#hasEndedStretch = false
    const isKnown = !this.#isLocal && minute !== unused.minute
    const untilMs = this.#untilMs
    return { settlement, ...(!isKnown && { begun: { ...(untilMs !== undefined && { untilMs }) } }) }
  }

  /** What was owed has not arrived. */
  stillOwed({ settlement }: Owed): void {
    if (settlement.minute !== this.#usage.minute) return
    this.#lease = minus(this.#lease, settlement)
    this.#unlearned = minus(this.#unlearned, settlement)
    this.#hasEndedStretch ||= settlement.isStretched
  }

  /** Nothing of it is of use any more. */
  get isOver(): boolean {
    this.#roll()
    return this.#usage === unused && isNone(this.#lease) && this.asking === undefined && this.waiting.size === 0
  }

  /** The next period begins with nothing. */
  #roll(): void {
    if (this.#usage.minute === unused.minute) return
    const isMinute = this.#untilMs === undefined
    if (this.#usage.endsAtMs > steadyMs() && inPeriod(this.#usage, isMinute) !== unused) return
    this.#usage = unused
    this.#lease = none
    this.#unlearned = none
    this.#isLocal = false
    this.#localMinute = undefined
    this.#hasEndedStretch = false
  }
}

/** The first questions about an account are asked as they come. */
const burst = 12
const everyMs = 400

/** Bounds how often a process asks the shared counter about one account. */
class Pace {
  #left = burst
  #atMs = performance.now()

  /** Whether questions come faster than they may. */
  get isHot(): boolean {
    this.#refill()
    return this.#left < burst / 2
  }

  /** Whether a question may be asked now, which counts it. */
  take(): boolean {
    this.#refill()
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** Resolves when a question may be asked, which counts it. */
  async next(): Promise<void> {
    while (!this.take()) await pause(everyMs * (1 - this.#left))
  }

  #refill(): void {
    const nowMs = performance.now()
    this.#left = Math.min(burst, this.#left + (nowMs - this.#atMs) / everyMs)
    this.#atMs = nowMs
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import type { Settlement, Share, Usage, UsageCounter } from '../contract/quota.ts'
import { type AccountLimits, Ledger } from './ledger.ts'
import { onlyRank, type Processes, type Rank, rankOf } from './part.ts'
import { covers, isNone, most, none, type Units } from './units.ts'

const defaultPatienceMs = 1000
const defaultRestMs = 2000
const settleEveryMs = 1000

type LeasedCounterOptions = {
  /** The counter of several processes. */
  readonly shared: UsageCounter
  /** The processes that count together; absent: this one only. */
  readonly processes?: () => Processes
  /** The shared counter has failed: until it answers again, this process counts alone. */
  onAway(error: unknown): void
  onBack(): void
  /** How long a request waits for the shared counter. */
  readonly patienceMs?: number
  /** How long a failed counter is left alone, so that not every request waits. */
  readonly restMs?: number
}

/**
 * Counts together with other processes. A quiet account is counted use by use; a hot one takes a slice of what is left and settles by the
 * second, so that it costs few questions. While the shared counter fails, each process allows its part of what it knew to be left, and adds
 * what it has counted when the counter is back: limits hold without it, and nothing that is within them stops.
 */
export class LeasedCounter {
  readonly #options: LeasedCounterOptions
  readonly #ledgers = new Map<string, Ledger>()
  /** The accounts that may owe something. */
  readonly #busy = new Set<string>()
  /** The number of accounts at which expired ones are dropped: days have a new account each. */
  #sweepsAt = 1000
  #timer: NodeJS.Timeout | undefined
  #isAway = false
  #restsUntilMs = 0
  /** Those that counted together when the shared counter failed last. */
  #processes: Processes | undefined
  /** Until then the others may not have added what they counted alone. */
  #aloneUntilMs = 0

  constructor(options: LeasedCounterOptions) {
    this.#options = options
  }

  known(account: string, limits: AccountLimits): Usage {
    return this.#ledgerOf(account, limits).view(limits, this.#rankIn(account))
  }

  /** The latest usage, as far as questions about the account are not too many. */
  async read(account: string, limits: AccountLimits): Promise<Usage> {
    const ledger = this.#ledgerOf(account, limits)
    if (!this.#isAlone && ledger.pace.take()) await this.#readAgain(account, ledger)
    return this.known(account, limits)
  }

  async take(account: string, share: Share, limits: AccountLimits): Promise<Usage | undefined> {
    const ledger = this.#ledgerOf(account, limits)
    this.#busy.add(account)
    if (!this.#isAlone && share.isStretched) return this.#takeRest(account, share, limits)
    ledger.waiting.add(share)
    const sentBefore = ledger.sent
    while (!this.#isAlone && !ledger.covers(share) && ledger.sent === sentBefore) {
      await this.#oneAtATime(ledger, () => this.#askForMore(account, ledger, limits))
    }
    ledger.waiting.delete(share)
    if (this.#isAlone) return this.#takeAlone(account, share, limits)
    if (!ledger.covers(share)) return undefined
    ledger.use(share)
    if (ledger.runsLow) void this.#oneAtATime(ledger, () => this.#askForMore(account, ledger, limits))
    return this.known(account, limits)
  }

  async settle(account: string, settlement: Settlement): Promise<void> {
    const ledger = this.#ledgerOf(account, {})
    this.#busy.add(account)
    ledger.settle(settlement)
    if (!this.#isAlone && !ledger.pace.isHot) await this.#settle(account, ledger)
  }

  /** Gives back what is left of all leases. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([...this.#ledgers].map(([account, ledger]) => this.#settle(account, ledger)))
  }

  get #isAlone(): boolean {
    return this.#isAway || performance.now() < this.#aloneUntilMs
  }

  #rankIn(account: string): Rank {
    return this.#isAlone && this.#processes !== undefined ? rankOf(account, this.#processes) : onlyRank
  }

  #ledgerOf(account: string, { untilMs }: AccountLimits): Ledger {
    const known = this.#ledgers.get(account)
    if (known !== undefined) return known
    if (this.#ledgers.size >= this.#sweepsAt) {
      for (const [each, { isOver }] of this.#ledgers) if (isOver) this.#ledgers.delete(each)
      this.#sweepsAt = Math.max(1000, 2 * this.#ledgers.size)
    }
    const ledger = new Ledger(untilMs)
    this.#ledgers.set(account, ledger)
    this.#timer ??= setInterval(() => this.#tick(), settleEveryMs).unref()
    return ledger
  }

  /** Waits for the question that runs, or asks. */
  #oneAtATime(ledger: Ledger, ask: () => Promise<void>): Promise<void> {
    ledger.asking ??= ask().finally(() => {
      ledger.asking = undefined
    })
    return ledger.asking
  }

  async #askForMore(account: string, ledger: Ledger, limits: AccountLimits): Promise<void> {
    await ledger.pace.next()
    ledger.sent += 1
    if (await this.#askFor(account, ledger, limits)) return
    // Others have used what seemed to be left.
    await ledger.pace.next()
    await this.#readAgain(account, ledger)
    await this.#askFor(account, ledger, limits)
  }

  /** False: less is left than was asked for. */
  async #askFor(account: string, ledger: Ledger, limits: AccountLimits): Promise<boolean> {
    const wish = ledger.wish(limits, this.#options.processes?.().all.length ?? 1)
    if (isNone(wish)) return ledger.waiting.size === 0
    const { untilMs } = limits
    const share: Share = { ...wish, isStretched: false, ...(untilMs !== undefined && { untilMs }) }
    const answer = await this.#ask(
      (shared) => shared.take(account, share, limits),
      (usage) => usage && this.#learn(ledger, usage, wish),
    )
    return answer === undefined || answer.value !== undefined
  }

  async #readAgain(account: string, ledger: Ledger): Promise<void> {
    await this.#ask(
      (shared) => shared.read(account),
      (usage) => this.#learn(ledger, usage),
    )
  }

  /** Takes all that is left, which nobody else may do meanwhile. */
  async #takeRest(account: string, share: Share, limits: AccountLimits): Promise<Usage | undefined> {
    const ledger = this.#ledgerOf(account, limits)
    while (ledger.asking !== undefined) await ledger.asking
    // What was left may have been taken meanwhile.
    if (!this.#isAlone && !isLeft(this.known(account, limits), share, limits)) return undefined
    let isTaken = false
    await this.#oneAtATime(ledger, async () => {
      await ledger.pace.next()
      const lack = ledger.lackOf(share)
      ledger.use(share)
      const answer = await this.#ask(
        (shared) => shared.take(account, { ...share, ...lack }, limits),
        (usage) => usage && this.#learn(ledger, usage, lack),
      )
      isTaken = answer?.value !== undefined
      if (isTaken) return
      ledger.add(share)
      await this.#readAgain(account, ledger)
    })
    if (isTaken) return this.known(account, limits)
    return this.#isAlone ? this.#takeAlone(account, share, limits) : undefined
  }

  #takeAlone(account: string, share: Share, limits: AccountLimits): Usage | undefined {
    const ledger = this.#ledgerOf(account, limits)
    if (!isLeft(this.known(account, limits), share, limits)) return undefined
    ledger.useAlone(share)
    return this.known(account, limits)
  }

  /** While this process counts alone, what it knew stays the base of what it allows. */
  #learn(ledger: Ledger, usage: Usage, added: Units = none): void {
    if (this.#isAlone) ledger.add(added)
    else ledger.learn(usage, added)
  }

  async #settle(account: string, ledger: Ledger): Promise<void> {
    if (ledger.asking !== undefined || this.#isResting) return
    const owed = ledger.owed()
    if (owed === undefined) return
    ledger.pace.take()
    const { settlement, begun } = owed
    const send = (shared: UsageCounter) =>
      // What belongs to no period of the shared counter begins one there.
      begun === undefined
        ? shared.settle(account, settlement)
        : shared.take(account, { ...most(none, settlement), isStretched: false, ...begun }, {})
    await this.#oneAtATime(ledger, async () => {
      await this.#ask(
        send,
        (usage) => usage && this.#learn(ledger, usage),
        () => ledger.stillOwed(owed),
      )
    })
  }

  async #tick(): Promise<void> {
    if (this.#isResting) return
    const [account] = this.#busy
    // One question finds out whether the counter is back.
    if (this.#isAway && account !== undefined) await this.#readAgain(account, this.#ledgerOf(account, {}))
    if (this.#isAway) return
    for (const each of this.#busy) {
      const ledger = this.#ledgerOf(each, {})
      void this.#settle(each, ledger)
      if (!ledger.tick()) this.#busy.delete(each)
    }
  }

  get #isResting(): boolean {
    return performance.now() < this.#restsUntilMs
  }

  /** Undefined while the shared counter fails; an answer that comes too late for the caller still has its effect. */
  async #ask<T>(
    question: (shared: UsageCounter) => Promise<T>,
    onAnswer: (answer: T) => void,
    onFailure: () => void = () => undefined,
  ): Promise<{ readonly value: T } | undefined> {
    if (this.#isResting) {
      onFailure()
      return undefined
    }
    const { shared, processes, onAway, onBack, patienceMs = defaultPatienceMs, restMs = defaultRestMs } = this.#options
    const giveUp = new AbortController()
    let isLate = false
    const answer = question(shared).then((value) => {
      if (!isLate && this.#isAway) {
        this.#isAway = false
        this.#restsUntilMs = 0
        if (this.#processes !== undefined && this.#processes.all.length > 1)
          this.#aloneUntilMs = performance.now() + restMs + 2 * settleEveryMs
        onBack()
      }
      onAnswer(value)
      return value
    })
    answer.catch(onFailure)
    try {
      const late = pause(patienceMs, undefined, { signal: giveUp.signal }).then(() => {
        throw new Error(`no answer in ${patienceMs} ms`)
      })
      return { value: await Promise.race([answer, late]) }
    } catch (error) {
      isLate = true
      this.#restsUntilMs = performance.now() + restMs
      if (!this.#isAlone) this.#processes = processes?.()
      if (!this.#isAway) onAway(error)
      this.#isAway = true
      return undefined
    } finally {
      giveUp.abort()
    }
  }
}

function isLeft(
  usage: Usage,
  share: Share,
  { requestsPerMinute = Infinity, tokensPerMinute = Infinity }: AccountLimits,
): boolean {
  if (share.isStretched && usage.isStretched) return false
  return covers({ requests: requestsPerMinute - usage.requests, tokens: tokensPerMinute - usage.tokens }, share)
}

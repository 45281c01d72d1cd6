import type { Round } from '../rounds/rounds.ts'

/** Rounds of one kind until it can be compared, and of the slower kind in a trial. */
const untilKnown = 4
/** What trials of the slower kind may cost, as a share of the time. */
const trialShare = 0.01
const [fewestUntilTrial, mostUntilTrial] = [64, 4096]
/** The newest rounds of each kind that are compared. */
const remembered = 8

/**
 * Whether rounds draft: where they take less time for a token with drafts than without. Both are measured, for each number of streams; the
 * slower one is tried again from time to time, since texts and the load of the machine change.
 */
export class DraftGain {
  readonly #now: () => number
  readonly #known = new Map<number, Known>()
  #round: Round | undefined
  #measured: { readonly pace: Pace; readonly startedMs: number; lastMs: number; tokens: number } | undefined
  #drafts = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether such rounds as the last draft, but for trials. */
  get isOn(): boolean {
    return this.#round === undefined || this.#known.get(this.#round.tokens)?.isOn !== false
  }

  /** Decides for all streams of a round. */
  drafts(round: Round): boolean {
    if (round === this.#round) return this.#drafts
    this.#finish()
    this.#round = round
    const known = this.#known.get(round.tokens) ?? new Known()
    this.#known.set(round.tokens, known)
    this.#drafts = known.next()
    const now = this.#now()
    this.#measured = { pace: this.#drafts ? known.with : known.without, startedMs: now, lastMs: now, tokens: 0 }
    return this.#drafts
  }

  /** A stream of the round has got a token. */
  push(): void {
    if (this.#measured === undefined) return
    this.#measured.tokens += 1
    this.#measured.lastMs = this.#now()
  }

  /** The next round is not one of those that are compared. */
  skip(): void {
    this.#finish()
  }

  #finish(): void {
    const { pace, startedMs, lastMs, tokens = 0 } = this.#measured ?? {}
    this.#measured = undefined
    if (pace !== undefined && tokens > 0) pace.learn((lastMs ?? 0) - (startedMs ?? 0), tokens)
  }
}

/** The time of a token. */
class Pace {
  rounds = 0
  readonly #ms: number[] = []
  readonly #tokens: number[] = []

  learn(ms: number, tokens: number): void {
    this.rounds += 1
    this.#ms.push(ms)
    this.#tokens.push(tokens)
    if (this.#ms.length <= remembered) return
    this.#ms.shift()
    this.#tokens.shift()
  }

  /** The median round, since another process may have had the processor in some. */
  get tokenMs(): number {
    const sorted = [...this.#ms].sort((a, b) => a - b)
    return (sorted[sorted.length >> 1] ?? 0) / this.tokensOfRound
  }

  get tokensOfRound(): number {
    return this.#tokens.reduce((sum, tokens) => sum + tokens, 0) / this.#tokens.length
  }
}

class Known {
  readonly with = new Pace()
  readonly without = new Pace()
  #sinceTrial = 0
  #trialsLeft = 0

  get isOn(): boolean {
    return !this.#isKnown || this.#excess < 0
  }

  /** Whether the next round drafts. */
  next(): boolean {
    if (!this.#isKnown) return this.without.rounds >= untilKnown
    const excess = this.#excess
    const isFaster = excess < 0
    if (this.#trialsLeft > 0) {
      this.#trialsLeft -= 1
      return !isFaster
    }
    const cost = isFaster ? 0 : (untilKnown * excess * this.with.tokensOfRound) / trialShare
    this.#sinceTrial += 1
    if (this.#sinceTrial < Math.min(mostUntilTrial, Math.max(fewestUntilTrial, cost))) return isFaster
    this.#sinceTrial = 0
    this.#trialsLeft = untilKnown - 1
    return !isFaster
  }

  get #isKnown(): boolean {
    return this.without.rounds >= untilKnown && this.with.rounds >= 2 * untilKnown
  }

  /** The time of a token that drafts cost, as a share of its time without. */
  get #excess(): number {
    return this.with.tokenMs / this.without.tokenMs - 1
  }
}

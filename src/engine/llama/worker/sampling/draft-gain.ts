import type { Round } from '../rounds/rounds.ts'
import type { Drafter } from './speculation.ts'

/** Rounds without drafts before the first with some. */
const untilKnown = 4
/** The shares of the time that drafts may cost where they do not pay, and reading texts for them. */
const [costShare, readingShare] = [0.007, 0.003]
/** The time of this many rounds, of what earlier drafts have saved, may be lost before drafts end: one rejected draft proves nothing. */
const savedRounds = 8
/** Rounds that draft before one that does not, which shows what a token takes without. */
const untilCompared = 64
/** The newest rounds of each kind that are compared. */
const remembered = 8
/** This many tokens for one pass are worth measuring, although such passes took longer before. */
const promising = 5

/**
 * Whether rounds draft, for each kind of drafter. Rounds with drafts and without are timed, for each number of streams: what drafts have cost
 * against the time of as many tokens without is a debt, and only rounds without drafts pay it off, with a share of their time. So drafts that
 * save time continue, and others are tried as often as that share allows.
 */
export class DraftGain {
  readonly #now: () => number
  readonly #known = new Map<number, Known>()
  #round: Round | undefined
  #measured: Measured | undefined
  #drafts = false
  #readingDebtMs = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether such rounds as the last draft. */
  get isOn(): boolean {
    return this.#current === undefined || this.#current.debtMs <= 0
  }

  /** Whether a drafter may read a text to catch up with it. */
  get mayRead(): boolean {
    return this.#saves || this.#readingDebtMs <= 0
  }

  /** Drafts as `drafter` does, where that saves time. */
  measure(drafter: Drafter): Drafter {
    let isMeasured = false
    return {
      get kind() {
        return drafter.kind
      },
      push: (token) => {
        drafter.push(token)
        if (isMeasured) this.push()
      },
      skip: () => {
        isMeasured = false
      },
      draft: (request) => {
        isMeasured = true
        if (!this.drafts(request.round) || !this.#isPromising(drafter)) return []
        const draft = drafter.draft(request)
        if (draft instanceof Promise || draft.length > 0) this.#spend()
        return draft
      },
    }
  }

  /** Decides for all streams of a round. */
  drafts(round: Round): boolean {
    if (round === this.#round) return this.#drafts
    this.#finish()
    this.#round = round
    // It is for its prompts.
    this.#drafts = round.prompts === 0 && this.#knownOf(round).next()
    const now = this.#now()
    if (round.prompts === 0) this.#measured = { startedMs: now, lastMs: now, tokens: 0, drafted: false, reads: false }
    return this.#drafts
  }

  /** A stream of the round has got a token; recurrent layers read again what was accepted before the next. */
  push(): void {
    if (this.#measured === undefined) return
    this.#measured.tokens += 1
    this.#measured.lastMs = this.#now()
  }

  /** A drafter reads a step of a text in this round. */
  read(): void {
    if (this.#measured !== undefined) this.#measured.reads = true
  }

  #spend(): void {
    if (this.#measured !== undefined) this.#measured.drafted = true
  }

  #isPromising({ expected }: Drafter): boolean {
    return expected === undefined || expected > Math.min(promising, this.#current?.ratio ?? promising)
  }

  get #current(): Known | undefined {
    return this.#round && this.#known.get(this.#round.tokens)
  }

  get #saves(): boolean {
    return this.#current !== undefined && this.#current.debtMs < 0
  }

  #knownOf({ tokens }: Round): Known {
    const known = this.#known.get(tokens) ?? new Known()
    this.#known.set(tokens, known)
    return known
  }

  #finish(): void {
    const { startedMs, lastMs, tokens, drafted, reads } = this.#measured ?? none
    this.#measured = undefined
    const known = this.#current
    if (known === undefined || tokens === 0) return
    const ms = lastMs - startedMs
    if (!reads) known.learn({ ms, tokens, drafted })
    const readingMs = reads && !this.#saves ? ms - tokens * known.without.tokenMs : 0
    this.#readingDebtMs = Math.max(0, this.#readingDebtMs - readingShare * ms + readingMs)
  }
}

type Measured = {
  readonly startedMs: number
  lastMs: number
  tokens: number
  drafted: boolean
  reads: boolean
}
const none: Measured = { startedMs: 0, lastMs: 0, tokens: 0, drafted: false, reads: false }

/** The time of a round and of a token. */
class Pace {
  readonly #ms: number[] = []
  readonly #tokens: number[] = []

  learn(ms: number, tokens: number): void {
    this.#ms.push(ms)
    this.#tokens.push(tokens)
    if (this.#ms.length <= remembered) return
    this.#ms.shift()
    this.#tokens.shift()
  }

  get rounds(): number {
    return this.#ms.length
  }

  /** The median round, since another process may have had the processor in some. */
  get ms(): number {
    const sorted = [...this.#ms].sort((a, b) => a - b)
    return sorted[(sorted.length - 1) >> 1] ?? 0
  }

  get tokenMs(): number {
    return this.ms / (this.#tokens.reduce((sum, tokens) => sum + tokens, 0) / this.rounds)
  }
}

/** Rounds of one number of streams. */
class Known {
  readonly without = new Pace()
  readonly #with = new Pace()
  /** What drafts have cost and rounds without have not paid off; negative: what they have saved lately. */
  debtMs = 0
  #isTried = false
  #sinceCompared = 0

  /** How much longer rounds with drafts take. */
  get ratio(): number {
    return this.#with.rounds === 0 ? Number.POSITIVE_INFINITY : this.#with.ms / this.without.ms
  }

  /** Whether the next round drafts. */
  next(): boolean {
    return this.without.rounds >= untilKnown && this.debtMs <= 0 && this.#sinceCompared < untilCompared
  }

  learn({ ms, tokens, drafted }: Pick<Measured, 'tokens' | 'drafted'> & { readonly ms: number }): void {
    if (!drafted) {
      this.without.learn(ms, tokens)
      this.#sinceCompared = 0
      if (this.debtMs > 0) this.debtMs = Math.max(0, this.debtMs - costShare * ms)
      return
    }
    this.#sinceCompared += 1
    // The first one prepares what later ones use.
    if (!this.#isTried) {
      this.#isTried = true
      return
    }
    this.#with.learn(ms, tokens)
    const cost = this.#with.ms - tokens * this.without.tokenMs
    this.debtMs = Math.max(-savedRounds * this.without.ms, this.debtMs + cost)
  }
}

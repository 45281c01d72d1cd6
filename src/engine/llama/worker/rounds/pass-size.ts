import type { PassTimes } from '../../binding/pass-times.ts'

/** The fewest decisions between two trials of the other way. */
const decisionsBetween = { first: 4, later: 32 }
/** The part of the time that trials may lose. */
const trialShare = 1 / 200
/** One by one must take at most this share of the time together, or noise would flip the decision. */
const worthChanging = 0.95
/** Consecutive passes of one sequence: llama.cpp prepares each pass of a different sequence anew. */
const mostInARow = 4
/** The longest that the others wait meanwhile, unless a single pass takes longer. */
const longestWaitMs = 100

type Way = { isOneByOne: boolean; decisions: number; hasTried: boolean }

/** All waiting sequences, the one that has waited longest, or the one that arrived last, which was in the pass before. */
export type Taken = 'all' | 'first' | 'last'

/**
 * Decides whether sequences that generate a token are computed in one pass or one by one. One pass is faster where reading the weights
 * dominates. On some processors it does not: llama.cpp computes a single token differently (measured on one core of a Zen 5, a model of 135
 * million parameters in Q4_1: 6.3 ms for one, 16.5 for two, 27.7 for four, 45.9 for eight). The other way is tried now and then.
 */
export class PassSize {
  readonly #times: PassTimes
  /** Indexed by the number of sequences. */
  readonly #ways: Way[] = []
  #leftInARow = 0

  constructor(times: PassTimes) {
    this.#times = times
  }

  /** Which of the waiting sequences the next pass computes. */
  next(sequences: number): Taken {
    if (sequences < 2) return 'all'
    if (this.#leftInARow > 0) {
      this.#leftInARow -= 1
      return 'last'
    }
    if (!this.#decide(sequences)) return 'all'
    this.#leftInARow = this.#inARow(sequences) - 1
    return 'first'
  }

  /** Whether to compute them one by one. */
  #decide(sequences: number): boolean {
    const way = this.#ways[sequences] ?? { isOneByOne: false, decisions: 0, hasTried: false }
    this.#ways[sequences] = way
    const oneByOne = this.#oneByOne(sequences)
    if (oneByOne !== undefined && (oneByOne > 1 || oneByOne < worthChanging)) way.isOneByOne = oneByOne < 1
    way.decisions += 1
    if (way.decisions <= this.#decisionsUntilTrial(way, sequences, oneByOne)) return way.isOneByOne
    way.decisions = 0
    way.hasTried = true
    return !way.isOneByOne
  }

  #inARow(sequences: number): number {
    const passMs = this.#times.measured(1) ?? this.#times.measured(sequences) ?? longestWaitMs
    return Math.max(1, Math.min(mostInARow, Math.floor(longestWaitMs / (passMs * (sequences - 1)))))
  }

  /** The time of `sequences` passes of one, relative to one pass of all; undefined until both were measured. */
  #oneByOne(sequences: number): number | undefined {
    const [one, all] = [this.#times.measured(1), this.#times.measured(sequences)]
    return one === undefined || all === undefined ? undefined : (one * sequences) / all
  }

  #decisionsUntilTrial({ isOneByOne, hasTried }: Way, sequences: number, oneByOne = 1): number {
    if (!hasTried) return decisionsBetween.first
    // One by one, a decision covers several passes; together, a single one. The loss of a trial is measured in times of a decision.
    const inARow = this.#inARow(sequences)
    const loss = isOneByOne ? (sequences * (1 / oneByOne - 1)) / inARow : (inARow * (oneByOne - 1)) / sequences
    return Math.max(decisionsBetween.later, loss / trialShare)
  }
}

import type { PassTimes } from '../../binding/pass-times.ts'

/** Decisions between two trials of the other way, at least. */
const decisionsBetween = { first: 4, later: 32 }
/** The part of the time that trials may lose. */
const trialShare = 1 / 200
/** One by one, sequences have to take at most this share of their time together, or the way would change with the noise. */
const worthChanging = 0.95
/** Passes of one sequence in a row: llama.cpp prepares each anew that is not of the same one. */
const mostInARow = 4
/** How long the others wait for it at most, unless a single pass takes longer. */
const longestWaitMs = 100

type Way = { isOneByOne: boolean; decisions: number; hasTried: boolean }

/** All that wait, or one: the one that has waited for the longest time, or the one that came last, which is the one of the pass before. */
export type Taken = 'all' | 'first' | 'last'

/**
 * Whether sequences that generate a token are computed in one pass or one by one. One pass is faster where reading the weights takes the
 * time. On some processors it is not: llama.cpp computes a single token in a way of its own (measured on one core of a Zen 5, a model of
 * 135 million parameters in Q4_1: 6.3 ms for one, 16.5 for two, 27.7 for four, 45.9 for eight). Now and then the other way is tried.
 */
export class PassSize {
  readonly #times: PassTimes
  /** By the number of sequences. */
  readonly #ways: Way[] = []
  #leftInARow = 0

  constructor(times: PassTimes) {
    this.#times = times
  }

  /** What of so many sequences that wait is in the next pass. */
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

  /** Whether they are computed one by one now. */
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

  /** The time of so many passes of one sequence, relative to that of one pass of all; undefined until both are known. */
  #oneByOne(sequences: number): number | undefined {
    const [one, all] = [this.#times.measured(1), this.#times.measured(sequences)]
    return one === undefined || all === undefined ? undefined : (one * sequences) / all
  }

  #decisionsUntilTrial({ isOneByOne, hasTried }: Way, sequences: number, oneByOne = 1): number {
    if (!hasTried) return decisionsBetween.first
    // One by one, a decision and a trial are some passes in a row; together, a single pass. What a trial loses is in the time of a decision.
    const inARow = this.#inARow(sequences)
    const loss = isOneByOne ? (sequences * (1 / oneByOne - 1)) / inARow : (inARow * (oneByOne - 1)) / sequences
    return Math.max(decisionsBetween.later, loss / trialShare)
  }
}

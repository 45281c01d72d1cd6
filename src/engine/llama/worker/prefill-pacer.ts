import type { Round } from './rounds.ts'
import { block, stepLength } from './step-length.ts'

/** Longer steps become shorter. The rest of the 250 ms in which a cancelled request frees its slot is for noise. */
const longestMs = 220
/**
 * A longer step is tried if it would take at most this at the present time for each token; mostly, a token takes less in longer steps.
 * A step of one block may take as long: half of it would take almost the same time.
 */
const longestTrialMs = 240
const smallestStep = 16
/** After this many steps, a length that took too long is tried again; twice as many each time. */
const restSteps = { first: 8, most: 64 }
/** Steps with this share of the tokens that they may have show how long one is that has all. */
const leastShare = 0.75

/**
 * Chooses how many tokens of prompts are computed in one round. llama.cpp cannot stop inside a round, so its duration is the delay of
 * a cancellation, and the longest gap of the streams that generate in it. The length is found by trying: the time of short steps says
 * little about long ones. Rounds with and without such streams are paced separately.
 */
export class PrefillPacer {
  readonly #now: () => number
  readonly #alone: Pace
  readonly #besideStreams: Pace
  #step: { readonly round: Round; tokens: number; readonly startedMs: number } | undefined

  constructor(options: { largestStep: number; now?: () => number }) {
    this.#now = options.now ?? (() => performance.now())
    this.#alone = new Pace(options.largestStep)
    this.#besideStreams = new Pace(options.largestStep)
  }

  /** The tokens to compute in this round, of a prompt that still has `remaining`. */
  stepOf(round: Round, remaining: number): number {
    const most = Math.max(1, Math.floor(this.#paceOf(round).tokens / round.prompts))
    return stepLength({ remaining, most, isBesideStreams: round.tokens > 0 })
  }

  /** Starts the clock for the tokens of a prompt; call the result when they are computed. All prompts of a round are one step. */
  measure(round: Round, tokens: number): () => void {
    if (this.#step?.round === round) this.#step.tokens += tokens
    else this.#step = { round, tokens, startedMs: this.#now() }
    const step = this.#step
    return () => {
      if (this.#step !== step) return
      this.#step = undefined
      this.#paceOf(round).learn(step.tokens, this.#now() - step.startedMs)
    }
  }

  #paceOf({ tokens }: Round): Pace {
    return tokens === 0 ? this.#alone : this.#besideStreams
  }
}

/** The length of steps: the largest that was not too slow when it was last tried. */
class Pace {
  readonly #largest: number
  tokens: number
  /** A longer step than those before it has just been chosen. */
  #isTrial = false
  #tooLong = Number.POSITIVE_INFINITY
  /** Steps until `#tooLong` is tried again. */
  #rest = 0
  #nextRest = restSteps.first

  constructor(largest: number) {
    this.#largest = largest < block ? largest : inSteps(largest)
    this.tokens = Math.min(smallestStep, largest)
  }

  learn(tokens: number, tookMs: number): void {
    if (tookMs > (this.tokens === block ? longestTrialMs : longestMs)) this.#shorten(tokens, tookMs)
    // The end of a prompt is shorter and shows nothing about longer steps.
    else if (tokens >= this.tokens * leastShare) this.#lengthen(tokens, tookMs)
  }

  #shorten(tokens: number, tookMs: number): void {
    this.#tooLong = this.tokens
    // What was fast enough before was slow by chance, or the machine is slower now: that shows soon.
    this.#rest = this.#isTrial ? this.#nextRest : restSteps.first
    if (this.#isTrial) this.#nextRest = Math.min(restSteps.most, this.#nextRest * 2)
    const fitting = Math.min(this.tokens - smallestStep, (tokens * longestMs) / tookMs)
    this.tokens = Math.min(this.#largest, inSteps(Math.max(this.tokens / 2, fitting)))
  }

  #lengthen(tokens: number, tookMs: number): void {
    this.#isTrial = false
    if (this.tokens >= this.#tooLong) {
      this.#tooLong = Number.POSITIVE_INFINITY
      this.#nextRest = restSteps.first
    }
    if (this.#rest > 0) this.#rest -= 1
    const allowed = this.#rest > 0 ? this.#tooLong - smallestStep : this.#tooLong
    const tried = inSteps(Math.min(allowed, this.tokens * 2, (tokens * longestTrialMs) / tookMs))
    const next = Math.min(this.#largest, tried)
    if (next <= this.tokens) return
    this.tokens = next
    this.#isTrial = true
  }
}

/** The longest length that has at most so many tokens: 16, 32, or blocks. */
function inSteps(tokens: number): number {
  if (tokens < block) return tokens < 2 * smallestStep ? smallestStep : 2 * smallestStep
  return Math.floor(tokens / block) * block
}

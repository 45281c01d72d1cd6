import { PromptCost, type Step } from './prompt-cost.ts'
import type { Round } from './rounds.ts'
import { block, stepLength } from './step-length.ts'

/** The default time in which a cancelled request frees its slot. */
export const defaultStopWithinMs = 250
/** The limit for prompts alone whose steps can be interrupted: requests that arrive meanwhile wait this long for their first step. */
export const interruptibleMs = 1000
/** The share of the limit that a round may be expected to take; the rest is for noise. */
const expectedShare = 0.88
/**
 * A round with a single block may exceed the expected share by this factor, since half a block takes almost as long. So may one with more
 * blocks than the last step: a token is usually cheaper in longer steps.
 */
const trial = 1.09
/** The share that prompts get beside streams that fill the round themselves. */
const leastShare = 0.5
/**
 * A block may take this many times as long as the shortest step, if even that exceeds the limit, or as the limit, if the step can be interrupted; a token
 * of the block must then take at most half of what it takes in a short step. Deep in a prompt it takes a third.
 */
const blockPatience = 2
/**
 * If the shortest step exceeds the limit because it reads all weights again, the round may be longer by this share, to read more tokens
 * with it. Each of them may take at most half of what a token takes in that step, and is expected to take at least an eighth.
 */
const filling = { share: 0.5, most: 1 / 2, least: 1 / 8 }
/**
 * llama.cpp computes steps of different lengths in separate passes (`llama_batch_allocr::split_equal`). If a pass has a fixed cost of this
 * share of a round, all steps of the round are as long as its first one.
 */
const longPass = 0.2
/** Warn once after this many short steps. */
const notableSteps = 16
/** The smallest steps: fewer tokens cost almost the same where reading the weights dominates. */
const shortest = { alone: 16, besideStreams: 8 }
/** The last step may be this much longer, where two steps would each be too short. */
const lastStep = 1.5

/** The tokens that a prompt still has to read, after `depth` others of its sequence. */
type Wanted = { readonly remaining: number; readonly depth: number }

type BlockChoice = {
  readonly oneMs: number
  readonly depth: number
  /** How many tokens fit in a short step. */
  readonly most: number
  readonly canEnd: boolean
  readonly longestMs: number
}

type PacerOptions = {
  readonly largestStep: number
  /** The longest that a round may take. */
  readonly stopWithinMs?: number
  /** Streams outside its rounds wait for them. */
  readonly holdsUpOthers?: boolean
  /** llama.cpp computes steps of different lengths in different passes. */
  readonly isDivided?: boolean
  /** The step of a prompt alone is interrupted as soon as that is cancelled. */
  readonly isInterruptible?: boolean
  /** Called once, after several steps that were shorter than a block because a block exceeds the limit. */
  readonly onShortSteps?: (() => void) | undefined
  readonly now?: () => number
}

/**
 * Chooses how many tokens of prompts are computed in one round. Its duration is the longest gap of the streams that generate in it, and
 * the delay of a cancellation, unless only prompts are read in it and can be interrupted. The time of a step is predicted from those
 * before, and that of the streams from rounds without prompts. The prompts of a round get their steps in the order in which they joined
 * it, until its time is used up; those that get none are first in the next one.
 */
export class PrefillPacer {
  readonly #now: () => number
  readonly #largest: number
  readonly #longestMs: number
  readonly #longestAloneMs: number
  readonly #isInterruptible: boolean
  readonly #holdsUpOthers: boolean
  readonly #isDivided: boolean
  readonly #onShortSteps: PacerOptions['onShortSteps']
  #shortSteps = 0
  readonly #cost = new PromptCost()
  #lastTokens = 0
  #step: { readonly round: Round; readonly first: number; tokens: number; depth: number; readonly startedMs: number } | undefined

  constructor(options: PacerOptions) {
    this.#now = options.now ?? (() => performance.now())
    this.#largest = options.largestStep
    const { stopWithinMs = defaultStopWithinMs, isInterruptible = false } = options
    this.#longestMs = expectedShare * stopWithinMs
    this.#longestAloneMs = expectedShare * Math.max(stopWithinMs, isInterruptible ? interruptibleMs : 0)
    this.#isInterruptible = isInterruptible
    this.#holdsUpOthers = options.holdsUpOthers === true
    this.#isDivided = options.isDivided !== false
    this.#onShortSteps = options.onShortSteps
  }

  /** The tokens to compute in this round; 0: the round is full without this prompt. */
  stepOf(round: Round, { remaining, depth }: Wanted): number {
    const isBesideStreams = round.tokens > 0
    const { tokens: taken, first } = this.#step?.round === round ? this.#step : { tokens: 0, first: 0 }
    const least = Math.min(this.#largest, isBesideStreams ? shortest.besideStreams : shortest.alone)
    const most = this.#mostTokens(round, { tokens: least, depth }) - taken
    if (taken > 0 && most < Math.min(least, remaining)) return 0
    if (taken > 0 && this.#passesTakeLong({ tokens: least, depth })) return Math.min(most, remaining) < first ? 0 : first
    if (!isBesideStreams && taken === 0 && most < Math.min(block, remaining, this.#largest)) this.#countShort()
    const endsInOne = Math.min(this.#largest, lastStep * least)
    if (most < least && remaining <= endsInOne) return remaining
    return stepLength({ remaining, most: Math.max(least, most), isBesideStreams })
  }

  /** Starts the clock for a step; call the result when it is computed. All prompts of a round are one step. */
  measure(round: Round, { tokens, depth }: Step): () => void {
    if (this.#step?.round === round) {
      this.#step.depth = (this.#step.depth * this.#step.tokens + depth * tokens) / (this.#step.tokens + tokens)
      this.#step.tokens += tokens
    } else this.#step = { round, first: tokens, tokens, depth, startedMs: this.#now() }
    const step = this.#step
    return () => {
      if (this.#step !== step) return
      this.#step = undefined
      this.#lastTokens = step.tokens
      const tookMs = this.#now() - step.startedMs
      // The estimate for the streams may be wrong, but a step never takes no time.
      const isExact = round.tokens === 0 || round.tokensMs > 0
      this.#cost.learn(step, Math.max(tookMs / 4, tookMs - round.tokensMs), isExact)
    }
  }

  #countShort(): void {
    this.#shortSteps += 1
    if (this.#shortSteps === notableSteps) this.#onShortSteps?.()
  }

  /** The most prompt tokens that fit in the round. */
  #mostTokens({ tokens: streams, prompts, tokensMs, endsForAny = false }: Round, shortestStep: Step): number {
    const { depth } = shortestStep
    const canEnd = streams === 0 && (prompts === 1 || endsForAny)
    const longestMs = canEnd ? this.#longestAloneMs : this.#longestMs
    const leftMs = (limitMs: number) => Math.min(limitMs, Math.max(limitMs - tokensMs, leastShare * tokensMs))
    const shared = streams > 0 ? 1 : 0
    for (let blocks = Math.floor((this.#largest - shared) / block); blocks > 0; blocks--) {
      const tokens = blocks * block
      const isTrial = blocks === 1 || tokens > this.#lastTokens
      const tookMs = this.#cost.of({ tokens, depth })
      if (tookMs !== undefined && tookMs <= leftMs(isTrial ? trial * longestMs : longestMs)) return tokens + shared
    }
    const oneMs = this.#cost.of({ tokens: 1, depth })
    if (oneMs === undefined) return 0
    const most = Math.min(block - 1, this.#largest, Math.floor(leftMs(longestMs) / oneMs))
    const isAlone = streams === 0 && !this.#holdsUpOthers
    if (isAlone && this.#largest >= block && this.#blockIsWorthIt({ oneMs, depth, most, canEnd, longestMs })) return block
    return Math.max(most, this.#filled(shortestStep, { tokensMs, leftMs: leftMs(longestMs) }))
  }

  #passesTakeLong(shortestStep: Step): boolean {
    if (!this.#isDivided) return false
    const times = this.#cost.timesOf(shortestStep)
    return times !== undefined && times.stepMs - shortestStep.tokens * times.furtherMs > longPass * this.#longestMs
  }

  /** How many tokens take little longer than the shortest step, if that alone exceeds the limit; 0: it fits, or its time is unknown. */
  #filled(shortestStep: Step, { tokensMs, leftMs }: { readonly tokensMs: number; readonly leftMs: number }): number {
    const { tokens } = shortestStep
    const times = this.#cost.timesOf(shortestStep)
    if (times === undefined || times.stepMs <= leftMs) return 0
    const tokenMs = times.stepMs / tokens
    if (times.furtherMs > filling.most * tokenMs) return 0
    const further = (filling.share * (tokensMs + times.stepMs)) / Math.max(times.furtherMs, filling.least * tokenMs)
    return Math.min(block - 1, this.#largest, tokens + Math.floor(further))
  }

  /** Whether a block is worth more than the limit; the first one is a trial. `canEnd`: a step is interrupted, if this one can be. */
  #blockIsWorthIt({ oneMs, depth, most, canEnd, longestMs }: BlockChoice): boolean {
    const isTooLongAnyway = most < shortest.alone
    const isInterrupted = canEnd && this.#isInterruptible
    const blockMs = this.#cost.knowsBlocks ? this.#cost.of({ tokens: block, depth }) : undefined
    if (blockMs === undefined) return isTooLongAnyway || isInterrupted
    if (isTooLongAnyway) return blockMs <= blockPatience * shortest.alone * oneMs
    return isInterrupted && blockMs <= blockPatience * longestMs && blockMs <= (block * oneMs) / 2
  }
}

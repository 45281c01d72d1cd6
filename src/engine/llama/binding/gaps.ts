import { PassTimes } from './pass-times.ts'

/** Passes that were faster apart are joined once in this many decisions: the machine may have been busy. */
const decisionsUntilTrial = 256
/** Longer gaps are not filled: what that costs is unknown until it is tried. */
const longestGap = 8

/** How many tokens of a sequence are in a pass. */
export type SequenceTokens = { readonly sequence: number; readonly tokens: number }

type Options = {
  /** Whether a sequence can compute another token. */
  readonly hasRoom: (sequence: number) => boolean
  /** The most placeholder tokens to add. */
  readonly most: number
}

type PositionRange = { readonly first: number; readonly last: number }

/**
 * llama.cpp computes a token of each of several sequences in one pass only while their numbers are consecutive
 * (`llama_batch_allocr::split_equal`). Each gap costs another pass, which reads all weights again: with sixteen sequences of which every
 * second one has ended, a token takes four times as long (1.07 billion parameters in Q8_0, a Xeon with AMX). A placeholder token for each
 * sequence in the gap, erased after the pass, joins the two. Whether that is faster depends on the machine, so passes are measured.
 */
export class Gaps {
  readonly #times = new PassTimes()
  /** Numbers of sequences that a pass has had. */
  readonly #seen = new Set<number>()
  #refused = 0

  /**
   * Learns the time of a pass, whose sequences ascend. Passes that llama.cpp splits are ignored: those with gaps, or with several tokens of
   * a sequence.
   */
  learn(pass: readonly SequenceTokens[], tookMs: number): void {
    const sequences = pass.length
    const [first, last] = [pass[0], pass.at(-1)]
    if (first === undefined || last === undefined || last.sequence - first.sequence + 1 !== sequences) return
    if (pass.some(({ tokens }) => tokens > 1)) return
    // The first pass of a size includes its preparation.
    if (this.#seen.has(sequences)) this.#times.learn(sequences, tookMs)
    this.#seen.add(sequences)
  }

  /** The sequences to compute a placeholder token for, so that those with one token each need fewer passes. */
  fill(pass: readonly SequenceTokens[], { hasRoom, most }: Options): number[] {
    const inPass = new Set(pass.map(({ sequence }) => sequence))
    const missing = (run: PositionRange, next: PositionRange) => between(run, next).filter((sequence) => !inPass.has(sequence))
    const joined = (run: PositionRange, next: PositionRange): PositionRange => ({ first: run.first, last: next.last })
    const filled: number[] = []
    const runs: PositionRange[] = []
    for (const { sequence, tokens } of pass) {
      if (tokens > 1) continue
      const [run, next] = [runs.at(-1), { first: sequence, last: sequence }]
      if (run !== undefined && missing(run, next).length === 0) runs.splice(-1, 1, joined(run, next))
      else runs.push(next)
    }
    let [run] = runs as [PositionRange]
    for (const next of runs.slice(1)) {
      const gap = missing(run, next)
      const fits = gap.length <= Math.min(longestGap, most - filled.length) && gap.every(hasRoom)
      if (fits && this.#isFaster(run, next)) {
        filled.push(...gap)
        run = joined(run, next)
      } else run = next
    }
    return filled
  }

  /** Whether one pass is faster than two, going by what was measured. */
  #isFaster(run: PositionRange, next: PositionRange): boolean {
    const ms = (from: PositionRange, to: PositionRange) => this.#times.atLeast(to.last - from.first + 1)
    if (ms(run, next) <= ms(run, run) + ms(next, next)) return true
    this.#refused += 1
    return this.#refused % decisionsUntilTrial === 0
  }
}

function between({ last }: PositionRange, { first }: PositionRange): number[] {
  return Array.from({ length: first - last - 1 }, (_, index) => last + 1 + index)
}

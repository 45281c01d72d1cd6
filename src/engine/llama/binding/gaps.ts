import { PassTimes } from './pass-times.ts'

/** Passes that were faster apart are joined once in this many decisions: the machine may have been busy. */
const decisionsUntilTrial = 256
/** Longer gaps are not filled: what that costs is unknown until it is tried. */
const longestGap = 8

/**
 * On a processor llama.cpp multiplies this many tokens together, and those that are left one by one: with 1.07 billion parameters in Q8_0, a
 * pass of 4, 5, 7 and 8 sequences takes 154, 231, 286 and 220 ms (measured on one core of an EPYC without AMX).
 */
const tile = 4
/** A longer pass must take at most this share of the time of the shorter one. */
const worthPadding = 0.97
/** The other way is tried after this number of decisions: sooner where it was never measured. */
const paddingTrials = { first: 8, later: 64 }

/** How many tokens of a sequence are in a pass. */
export type SequenceTokens = { readonly sequence: number; readonly tokens: number }

type Options = {
  /** Whether there is a sequence of this number, and it can compute another token. */
  readonly hasRoom: (sequence: number) => boolean
  /** The most placeholder tokens to add. */
  readonly most: number
}

type PositionRange = { readonly first: number; readonly last: number }

/**
 * llama.cpp computes a token of each of several sequences in one pass only while their numbers are consecutive
 * (`llama_batch_allocr::split_equal`). Each gap costs another pass, which reads all weights again: with sixteen sequences of which every
 * second one has ended, a token takes four times as long (1.07 billion parameters in Q8_0, a Xeon with AMX). A placeholder token for each
 * sequence in the gap, erased after the pass, joins the two. Some make the pass as long as llama.cpp computes best. Whether that is faster
 * depends on the machine, so passes are measured.
 */
export class Gaps {
  readonly #times = new PassTimes()
  /** Numbers of sequences that a pass has had. */
  readonly #seen = new Set<number>()
  /** Decisions on longer passes, by the number of sequences. */
  readonly #decisions: number[] = []
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
    const isOne = pass.every(({ tokens }) => tokens === 1) && run.first === runs[0]?.first
    return isOne ? [...filled, ...this.#padding(run, { hasRoom, most: most - filled.length })] : filled
  }

  /** Sequences beside a run with which it is faster, going by what was measured. */
  #padding({ first, last }: PositionRange, { hasRoom, most }: Options): number[] {
    const length = last - first + 1
    const wanted = (tile - (length % tile)) % tile
    if (wanted === 0 || wanted > most) return []
    const found: number[] = []
    for (let id = last + 1; found.length < wanted && hasRoom(id); id++) found.push(id)
    for (let id = first - 1; found.length < wanted && id >= 0 && hasRoom(id); id--) found.push(id)
    return found.length === wanted && this.#paddingPays(length, length + wanted) ? found : []
  }

  #paddingPays(length: number, padded: number): boolean {
    const [plainMs, paddedMs] = [this.#times.measured(length), this.#times.measured(padded)]
    if (plainMs === undefined) return false
    const decisions = (this.#decisions[length] ?? 0) + 1
    this.#decisions[length] = decisions
    const pays = paddedMs !== undefined && paddedMs <= worthPadding * plainMs
    const isTrial = decisions % (paddedMs === undefined ? paddingTrials.first : paddingTrials.later) === 0
    return pays !== isTrial
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

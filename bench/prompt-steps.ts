import { PrefillPacer } from '../src/engine/llama/worker/rounds/prefill-pacer.ts'
import type { Round } from '../src/engine/llama/worker/rounds/rounds.ts'
import { block } from '../src/engine/llama/worker/rounds/step-length.ts'
import { printTable } from './report/report.ts'

/**
 * The steps of prompts on computed machines, which no other work disturbs: the times of passes that llama.cpp had on one slow core
 * (bench/results/2026-11-streams-2.md), divided by `speed`, and longer by chance by up to `noise`.
 *
 *   npx tsx bench/prompt-steps.ts
 */

type Machine = { readonly speed: number; readonly noise: number }

const prompts = [
  { tokens: 200, streams: 0 },
  { tokens: 1300, streams: 0 },
  { tokens: 1300, streams: 1 },
  { tokens: 1300, streams: 7 },
]
const turns = 6
const promisedMs = 250

const streamsMs = (streams: number) => (streams === 0 ? 0 : 16 + (streams - 1) * 13.7)
const promptMs = (tokens: number, depth: number) => 10 + tokens * (6.3 + (tokens < block ? 0.0059 : 0.0017) * depth)

/** Beside streams, llama.cpp computes one token of each sequence, and then the rest of the prompt. */
function roundMs(tokens: number, depth: number, streams: number): number {
  if (streams === 0) return promptMs(tokens, depth)
  return streamsMs(streams + 1) + (tokens === 1 ? 0 : promptMs(tokens - 1, depth))
}

/** Reads prompts of all kinds in turns; for each kind, the time and the rounds of each prompt. */
function readAll({ speed, noise }: Machine) {
  let nowMs = 0
  let seed = 1
  const chance = () => {
    seed = (seed * 48271) % 2147483647
    return 1 + (seed / 2147483647) * noise
  }
  const pacer = new PrefillPacer({ largestStep: 496, now: () => nowMs })
  const compute = (round: Round, tokens: number, depth: number) => {
    const finished = pacer.measure(round, { tokens, depth })
    const tookMs = (roundMs(tokens, depth, round.tokens) / speed) * chance()
    nowMs += tookMs
    finished()
    return tookMs
  }
  const read = (total: number, streams: number) => {
    const rounds: number[] = []
    for (let depth = 0; depth < total; ) {
      const round = { tokens: streams, prompts: 1, tokensMs: streamsMs(streams) / speed }
      const tokens = pacer.stepOf(round, { remaining: total - depth, depth })
      rounds.push(compute(round, tokens, depth))
      depth += tokens
    }
    return rounds
  }
  compute({ tokens: 0, prompts: 1, tokensMs: 0 }, 16, 0)
  const times = prompts.map((): number[][] => [])
  for (let turn = 0; turn < turns; turn++) {
    for (const [kind, { tokens, streams }] of prompts.entries()) times[kind]?.push(read(tokens, streams))
  }
  return times
}

const rows = [1, 2, 4].flatMap((speed) =>
  [0, 0.4].flatMap((noise) =>
    readAll({ speed, noise }).map((reads, kind) => {
      const rounds = reads.flat()
      const meanMs = rounds.reduce((sum, ms) => sum + ms, 0) / turns
      const { tokens, streams } = prompts[kind] ?? { tokens: 0, streams: 0 }
      const late = rounds.filter((ms) => ms > promisedMs).length
      const name = `speed ${speed}, noise ${noise}: ${tokens} beside ${streams}`
      return [name, meanMs, Math.max(...rounds), `${late} of ${rounds.length}`]
    }),
  ),
)
printTable(['tokens beside streams', 'ms', 'longest round', `rounds over ${promisedMs} ms`], rows)

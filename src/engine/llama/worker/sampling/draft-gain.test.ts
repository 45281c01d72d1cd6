import { describe, expect, test } from 'vitest'
import type { Token } from '../../binding/tokenizer.ts'
import { DraftGain } from './draft-gain.ts'
import { NgramDrafter } from './ngram-drafter.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

type Cost = { readonly ms: number; readonly tokens: number }
type Costs = { with: Cost; without: Cost }

function roundOf(streams: number, prompts = 0) {
  return { tokens: streams, prompts, tokensMs: 0 }
}

/** Rounds of one stream, each of which takes as long as given and gives as many tokens. A draft that is a promise has always cost time. */
function open(costs: Costs, { draft = (): readonly number[] | Promise<number[]> => [1], reads = (): boolean => false } = {}) {
  const clock = { ms: 0 }
  const gain = new DraftGain(() => clock.ms)
  let drafting = 0
  const drafter: Drafter = {
    kind: 'model',
    push: () => undefined,
    draft: () => {
      if (reads()) gain.read()
      const found = draft()
      if (found instanceof Promise || found.length > 0) drafting += 1
      return found as Promise<Token[]>
    },
  }
  const measured = gain.measure(drafter)
  const rounds = (count: number, streams = 1) => {
    const [before, startedMs] = [drafting, clock.ms]
    let tokens = 0
    for (let round = 0; round < count; round++) {
      const earlier = drafting
      void measured.draft({ round: roundOf(streams) } as DraftRequest)
      const cost = drafting > earlier ? costs.with : costs.without
      clock.ms += cost.ms
      for (let token = 0; token < cost.tokens; token++) measured.push(1 as Token)
      tokens += cost.tokens
    }
    return { drafting: drafting - before, tokenMs: (clock.ms - startedMs) / tokens }
  }
  return { gain, rounds }
}

const alone = { ms: 10, tokens: 1 }
const losing = [
  { name: 'twice as long', with: { ms: 40, tokens: 2 } },
  { name: 'five times as long', with: { ms: 50, tokens: 1 } },
  { name: 'a little longer', with: { ms: 11, tokens: 1 } },
]

describe('drafts', () => {
  test('go on where a token takes less time with them', () => {
    const { gain, rounds } = open({ with: { ms: 15, tokens: 2 }, without: alone })
    expect(rounds(1000).drafting).toBeGreaterThan(950)
    expect(gain.isOn).toBe(true)
  })

  test.each(losing)('end where a token takes $name with them: from the first, they cost less than two hundredths', (costs) => {
    const { rounds } = open({ without: alone, with: costs.with }, { draft: () => Promise.resolve([]) })
    rounds(10)
    const { drafting, tokenMs } = rounds(5000)
    expect(drafting).toBeGreaterThan(0)
    expect(tokenMs).toBeLessThan(10 / 0.98)
  })

  test('cost little after a time in which they paid', () => {
    const costs: Costs = { with: { ms: 12, tokens: 3 }, without: alone }
    const { rounds } = open(costs)
    rounds(1000)
    costs.with = { ms: 30, tokens: 1 }
    expect(rounds(1000).tokenMs).toBeLessThan(10 / 0.97)
  })

  test('return once they gain', () => {
    const costs: Costs = { with: { ms: 40, tokens: 2 }, without: alone }
    const { rounds } = open(costs)
    rounds(100)
    costs.with = { ms: 12, tokens: 2 }
    rounds(5000)
    expect(rounds(100).drafting).toBeGreaterThan(90)
  })

  test('end although other processes interrupt some rounds without drafts', () => {
    const costs: Costs = { with: { ms: 20, tokens: 1 }, without: alone }
    const { gain, rounds } = open(costs)
    for (let time = 0; time < 60; time++) {
      costs.without = { ms: 200, tokens: 1 }
      rounds(1)
      costs.without = alone
      rounds(20)
    }
    expect(gain.isOn).toBe(false)
  })

  test('go on although some of them are rejected', () => {
    const costs: Costs = { with: { ms: 20, tokens: 4 }, without: alone }
    const { rounds } = open(costs)
    rounds(50)
    let drafting = 0
    for (let time = 0; time < 100; time++) {
      for (const tokens of [4, 1, 1, 5]) {
        costs.with = { ms: 20, tokens }
        drafting += rounds(1).drafting
      }
    }
    expect(drafting).toBeGreaterThan(380)
  })

  test('that are seldom found are judged by the rounds that have some', () => {
    let round = 0
    const { rounds } = open({ with: { ms: 30, tokens: 1 }, without: alone }, { draft: () => (++round % 10 === 0 ? [1] : []) })
    expect(rounds(2000).tokenMs).toBeLessThan(10 / 0.98)
  })

  test('are decided for each number of streams, and for all streams of a round together', () => {
    const { gain, rounds } = open({ with: { ms: 15, tokens: 2 }, without: alone })
    rounds(100)
    const round = roundOf(4)
    expect([gain.drafts(round), gain.drafts(round)]).toEqual([false, false])
    expect(gain.drafts(roundOf(1))).toBe(true)
    expect(gain.drafts(roundOf(1, 1))).toBe(false)
  })
})

describe('a text that a draft model lacks', () => {
  test('is read within a share of the time, unless drafts save time', () => {
    let isReading = true
    const costs: Costs = { with: { ms: 110, tokens: 1 }, without: alone }
    const { gain, rounds } = open(costs, { draft: () => Promise.resolve([]), reads: () => isReading })
    rounds(10)
    expect(gain.mayRead).toBe(false)
    isReading = false
    costs.with = { ms: 15, tokens: 3 }
    rounds(4)
    expect(gain.mayRead).toBe(true)
  })
})

describe('a looked-up draft', () => {
  /** A text, generated where a pass with a draft takes three times as long. */
  function generate(output: readonly number[], prompt: readonly number[], gain: DraftGain, clock: { ms: number }) {
    const drafter = gain.measure(new NgramDrafter({ prompt, maxTokens: 8 }))
    const startedMs = clock.ms
    for (let at = 0; at < output.length; ) {
      const draft = drafter.draft({ round: roundOf(1), room: 100 } as DraftRequest) as readonly Token[]
      clock.ms += draft.length > 0 ? 30 : 10
      let next = 0
      do {
        drafter.push(output[at] as Token)
        at += 1
      } while (at < output.length && draft[next] !== undefined && draft[next++] === output[at - 1])
    }
    return (clock.ms - startedMs) / output.length
  }
  const code = Array.from({ length: 300 }, (_, at) => 1000 + ((at * 7919) % 4099))
  const edited = code.map((token, at) => (at % 40 === 39 ? 1 : token))
  /** Repeats phrases of three words, and goes on otherwise. */
  const prose = Array.from({ length: 400 }, (_, at) => (at % 5 < 3 ? 10 + (at % 5) : (at * 7919) % 4099))

  test('costs nothing in prose and gains in an edit, whatever came before', () => {
    const clock = { ms: 0 }
    const gain = new DraftGain(() => clock.ms)
    for (let time = 0; time < 5; time++) {
      expect(generate(prose, [], gain, clock)).toBeLessThan(10 / 0.98)
      expect(generate(edited, code, gain, clock)).toBeLessThan(6.5)
    }
  })
})

import { describe, expect, test } from 'vitest'
import { DraftGain } from './draft-gain.ts'

/** Rounds of one stream, each of which takes as long as given and gives as many tokens. */
function run(gain: DraftGain, clock: { ms: number }, costs: Costs) {
  return (rounds: number, streams = 1) => {
    let [drafting, ms, tokens] = [0, 0, 0]
    for (let round = 0; round < rounds; round++) {
      const drafts = gain.drafts({ tokens: streams, prompts: 0, tokensMs: 0 })
      const cost = drafts ? costs.with : costs.without
      if (drafts) drafting += 1
      clock.ms += cost.ms
      ms += cost.ms
      for (let token = 0; token < cost.tokens; token++) gain.push()
      tokens += cost.tokens
    }
    return { drafting, tokenMs: ms / tokens }
  }
}

type Costs = Record<'with' | 'without', { ms: number; tokens: number }>

function open(costs: Costs) {
  const clock = { ms: 0 }
  const gain = new DraftGain(() => clock.ms)
  return { gain, rounds: run(gain, clock, costs) }
}

describe('drafts', () => {
  test('go on where a token takes less time with them', () => {
    const { gain, rounds } = open({ with: { ms: 15, tokens: 2 }, without: { ms: 10, tokens: 1 } })
    rounds(20)
    expect(rounds(1000).drafting).toBeGreaterThan(900)
    expect(gain.isOn).toBe(true)
  })

  test.each([
    { name: 'twice as long', with: { ms: 40, tokens: 2 } },
    { name: 'five times as long', with: { ms: 50, tokens: 1 } },
    { name: 'a little longer', with: { ms: 11, tokens: 1 } },
  ])('end where a token takes $name with them, and trials cost less than two hundredths', ({ with: drafted }) => {
    const { gain, rounds } = open({ with: drafted, without: { ms: 10, tokens: 1 } })
    rounds(20)
    expect(gain.isOn).toBe(false)
    const { drafting, tokenMs } = rounds(5000)
    expect(drafting).toBeGreaterThan(0)
    expect(tokenMs).toBeLessThan(10 / 0.98)
  })

  test('return once they gain', () => {
    const costs = { with: { ms: 40, tokens: 2 }, without: { ms: 10, tokens: 1 } }
    const { rounds } = open(costs)
    rounds(100)
    costs.with = { ms: 12, tokens: 2 }
    rounds(5000)
    expect(rounds(100).drafting).toBeGreaterThan(90)
  })

  test('end although other processes interrupt some rounds without drafts', () => {
    const costs = { with: { ms: 20, tokens: 1 }, without: { ms: 10, tokens: 1 } }
    const { gain, rounds } = open(costs)
    for (let time = 0; time < 60; time++) {
      costs.without = { ms: 200, tokens: 1 }
      rounds(1)
      costs.without = { ms: 10, tokens: 1 }
      rounds(20)
    }
    expect(gain.isOn).toBe(false)
  })

  test('are decided for each number of streams, and for all streams of a round together', () => {
    const { gain, rounds } = open({ with: { ms: 15, tokens: 2 }, without: { ms: 10, tokens: 1 } })
    rounds(100)
    const round = { tokens: 4, prompts: 0, tokensMs: 0 }
    expect([gain.drafts(round), gain.drafts(round)]).toEqual([false, false])
  })
})

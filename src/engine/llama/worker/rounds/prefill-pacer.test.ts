import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { PrefillPacer } from './prefill-pacer.ts'
import { block } from './step-length.ts'

type Computed = { readonly tokens: number; readonly depth: number; readonly streams: number; readonly step: number }

/** How long a machine computes a round. */
type Machine = (round: Computed) => number

/** A round costs some time whatever is in it, and each token some more. */
const machine =
  (roundMs: number, tokenMs: number): Machine =>
  ({ tokens, streams }) =>
    roundMs + (tokens + streams) * tokenMs

/** As llama.cpp on one slow core: attention makes tokens slower the more stand before them, and less so in blocks. */
const attentive: Machine = ({ tokens, depth, streams }) =>
  10 + tokens * (6.3 + (tokens < block ? 0.006 : 0.0018) * depth) * 0.5 + streams * 9

type Reading = {
  readonly steps: number
  readonly prompts?: number
  readonly streams?: number
  /** The expected time of the streams; absent: as the machine takes. */
  readonly tokensMs?: number
  readonly depthOf?: (step: number) => number
  readonly endsForAny?: boolean
}

function createReader(options: Partial<ConstructorParameters<typeof PrefillPacer>[0]> = {}) {
  let nowMs = 0
  const pacer = new PrefillPacer({ largestStep: 504, now: () => nowMs, ...options })
  /** Reads long prompts. Returns the tokens and the time of each round. */
  const read = (
    computeMs: Machine,
    { steps, prompts = 1, streams = 0, tokensMs, depthOf = () => 0, endsForAny = false }: Reading,
  ) =>
    Array.from({ length: steps }, (_, step) => {
      const depth = depthOf(step)
      const expectedMs = streams === 0 ? 0 : (tokensMs ?? computeMs({ tokens: 0, depth, streams, step }))
      const round = { tokens: streams, prompts, tokensMs: expectedMs, endsForAny }
      const each = Array.from({ length: prompts }, () => {
        const tokens = pacer.stepOf(round, { remaining: 100_000 * block, depth })
        return { tokens, finished: tokens === 0 ? undefined : pacer.measure(round, { tokens, depth }) }
      })
      const size = each.reduce((sum, { tokens }) => sum + tokens, 0)
      const tookMs = computeMs({ tokens: size, depth, streams, step })
      nowMs += tookMs
      for (const { finished } of each) finished?.()
      return { size, tookMs, each: each.map(({ tokens }) => tokens) }
    })
  return { pacer, read }
}

const sizesOf = (steps: readonly { readonly size: number }[]) => steps.map(({ size }) => size)

describe('the length of steps in reading prompts', () => {
  test.each([
    { name: 'a fast machine fills its batch', roundMs: 2, tokenMs: 0.05, expected: 448 },
    { name: 'a machine whose rounds take long, and tokens nothing', roundMs: 110, tokenMs: 0.05, expected: 448 },
    { name: 'long steps follow where short ones promise little', roundMs: 70, tokenMs: 0.7, expected: 192 },
    { name: 'a machine that takes the same time for each token', roundMs: 0, tokenMs: 5, expected: 44 },
    { name: 'a block may take a little longer than other steps', roundMs: 0, tokenMs: 3.6, expected: 64 },
    { name: 'a slow machine takes the shortest steps', roundMs: 100, tokenMs: 20, expected: 16 },
  ])('$name', ({ roundMs, tokenMs, expected }) => {
    const sizes = sizesOf(createReader().read(machine(roundMs, tokenMs), { steps: 100 }))
    expect(sizes.filter((size) => size === expected).length).toBeGreaterThan(75)
  })

  test('no step exceeds its limit unless the shortest does, on any machine', () => {
    const anyMachine = fc.record({
      roundMs: fc.double({ min: 0, max: 240, noNaN: true }),
      tokenMs: fc.double({ min: 0, max: 20, noNaN: true }),
    })
    const stopWithinMs = fc.integer({ min: 250, max: 10_000 })
    fc.assert(
      fc.property(anyMachine, fc.integer({ min: 1, max: 2048 }), stopWithinMs, ({ roundMs, tokenMs }, largestStep, mostMs) => {
        for (const { size, tookMs } of createReader({ largestStep, stopWithinMs: mostMs }).read(machine(roundMs, tokenMs), {
          steps: 200,
        })) {
          expect(size).toBeLessThanOrEqual(largestStep)
          const isPossible = roundMs + 16 * tokenMs <= 220
          if (size > 16 && isPossible) expect(tookMs).toBeLessThanOrEqual(mostMs)
        }
      }),
    )
  })

  test('the length of steps follows the depth of the prompt, down and up again', () => {
    const depthOf = (step: number) => (step % 40) * 32
    const steps = createReader().read(attentive, { steps: 200, depthOf }).slice(120)
    expect(Math.max(...steps.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(250)
    // Each prompt begins with a block again, and ends with shorter steps.
    expect([steps[1]?.size, steps[41]?.size]).toEqual([64, 64])
    expect(steps[39]?.size).toBeLessThan(64)
    expect(Math.min(...sizesOf(steps))).toBeGreaterThan(16)
  })

  test('where a block takes too long, more time makes prompts faster', () => {
    const slow: Machine = ({ tokens, depth }) => tokens * (5 + (tokens < block ? 0.006 : 0.0018) * depth)
    const readMs = (stopWithinMs: number) => {
      const { read } = createReader({ stopWithinMs })
      let depth = 0
      let totalMs = 0
      while (depth < 4000) {
        const [{ size, tookMs } = { size: 0, tookMs: 0 }] = read(slow, { steps: 1, depthOf: () => depth })
        depth += size
        totalMs += tookMs
      }
      return totalMs
    }
    expect(readMs(250) / readMs(1000)).toBeGreaterThan(1.2)
  })

  test('prompts that can be interrupted are read in longer steps while no stream is in the round', () => {
    const { read } = createReader({ isInterruptible: true })
    const longest = (options: Omit<Reading, 'steps'>) => {
      const steps = read(machine(0, 4), { steps: 20, ...options }).slice(10)
      return Math.max(...steps.map(({ tookMs }) => tookMs))
    }
    const alone = longest({})
    expect(alone).toBeGreaterThan(600)
    expect(alone).toBeLessThanOrEqual(1000)
    expect(longest({ streams: 1 })).toBeLessThanOrEqual(290)
    expect(longest({ prompts: 2 })).toBeLessThanOrEqual(290)
    expect(longest({ prompts: 2, endsForAny: true })).toBeGreaterThan(600)
    const patient = createReader({ isInterruptible: true, stopWithinMs: 5000 })
    expect(patient.read(machine(0, 4), { steps: 20 }).at(-1)?.tookMs).toBeGreaterThan(1000)
  })

  test('where the shortest step takes too long, blocks are read if they take at most twice as long', () => {
    const sizesAt = (tokenMs: (size: number) => number, options = {}) =>
      new Set(sizesOf(createReader(options).read(({ tokens }) => tokens * tokenMs(tokens), { steps: 40 })).slice(10))
    const gains = (size: number) => (size < block ? 25 : 11)
    expect(sizesAt(gains)).toEqual(new Set([block]))
    expect(sizesAt(() => 25)).toEqual(new Set([16]))
    // A draft model does not know who waits for it.
    expect(sizesAt(gains, { holdsUpOthers: true })).toEqual(new Set([16]))
  })

  test('a prompt alone is read in blocks a little above the limit rather than in short steps with slow tokens', () => {
    const deep: Machine = ({ tokens }) => tokens * (tokens < block ? 50 : 16)
    const sizesOn = (computeMs: Machine, isInterruptible: boolean, prompts = 1) =>
      sizesOf(createReader({ isInterruptible, stopWithinMs: 1000 }).read(computeMs, { steps: 40, prompts })).slice(10)
    expect(new Set(sizesOn(deep, true))).toEqual(new Set([block]))
    expect(Math.max(...sizesOn(deep, false))).toBeLessThan(block)
    expect(Math.max(...sizesOn(deep, true, 2))).toBeLessThan(block)
    expect(Math.max(...sizesOn(machine(0, 50), true))).toBeLessThan(block)
  })

  test('the pacer reports once that blocks do not fit', () => {
    const hints = (tokenMs: number) => {
      const onShortSteps = vi.fn()
      createReader({ onShortSteps }).read(machine(0, tokenMs), { steps: 60 })
      return onShortSteps.mock.calls.length
    }
    expect([hints(5), hints(20), hints(2)]).toEqual([1, 1, 0])
  })

  test('a step that was slow by chance shortens only some steps', () => {
    const steady = machine(40, 1.7)
    const sizes = sizesOf(createReader().read((one) => (one.step === 40 ? 2000 : steady(one)), { steps: 80 }))
    expect(sizes[40]).toBe(64)
    expect(sizes[41]).toBeLessThan(64)
    expect(sizes.slice(55).every((size) => size === 64)).toBe(true)
  })

  test('noise does not keep steps short', () => {
    let seed = 1
    const noise = () => {
      seed = (seed * 48271) % 2147483647
      return 1 + (seed / 2147483647) * 0.5
    }
    const sizes = sizesOf(createReader().read(({ tokens }) => (40 + tokens * 1.2) * noise(), { steps: 400 }))
    expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeGreaterThan(60)
  })

  test('the pacer follows a machine that becomes slower or faster', () => {
    const { read } = createReader()
    expect(read(machine(10, 0.5), { steps: 60 }).at(-1)?.size).toBeGreaterThanOrEqual(256)
    const slower = read(machine(20, 4), { steps: 60 })
    expect(slower.at(-1)?.size).toBeGreaterThanOrEqual(40)
    expect(slower.slice(10).every(({ tookMs }) => tookMs < 250)).toBe(true)
    expect(read(machine(10, 0.5), { steps: 200 }).at(-1)?.size).toBeGreaterThanOrEqual(256)
  })

  test.each([
    { name: 'fill the time that they leave', streams: 7, roundMs: 10, tokenMs: 1, least: 129, most: 193 },
    { name: 'are longer beside one stream than beside seven', streams: 1, roundMs: 10, tokenMs: 1, least: 180, most: 193 },
    { name: 'go on beside streams that take all of the time', streams: 7, roundMs: 20, tokenMs: 40, least: 8, most: 8 },
  ])('steps beside streams $name', ({ streams, roundMs, tokenMs, least, most }) => {
    const { read } = createReader()
    read(machine(roundMs, tokenMs), { steps: 20 })
    const { size = 0, tookMs = 0 } = read(machine(roundMs, tokenMs), { steps: 20, streams }).at(-1) ?? {}
    expect(size).toBeGreaterThanOrEqual(least)
    expect(size).toBeLessThanOrEqual(most)
    if (size > 8) expect(tookMs).toBeLessThanOrEqual(250)
  })

  test('a wrong estimate of the streams does not make a step free', () => {
    const { read } = createReader()
    const steps = read(machine(10, 2), { steps: 60, streams: 2, tokensMs: 1000 })
    expect(Math.max(...steps.map(({ tookMs }) => tookMs))).toBeLessThan(1000)
  })

  test('prompts that are read in the same rounds share the time, the first ones first', () => {
    const alone = createReader()
    alone.read(machine(10, 1), { steps: 40 })
    const eight = createReader()
    const steps = eight.read(machine(10, 1), { steps: 40, prompts: 8 })
    expect(steps.at(-1)?.size).toBe(alone.read(machine(10, 1), { steps: 1 })[0]?.size)
    expect(steps.at(-1)?.each.slice(1)).toEqual(Array.from({ length: 7 }, () => 0))
  })

  /** As a processor that computes fast and reads weights slowly: each pass takes long, whatever is in it. */
  const passes: Machine = ({ tokens, streams }) => (streams > 0 ? 120 + 3.5 * streams : 0) + (tokens > 0 ? 120 + 3.9 * tokens : 0)
  /** What each of so many waiting prompts of eight tokens gets in a round. */
  const shortPrompts = (pacer: PrefillPacer, { streams, waiting }: { streams: number; waiting: number }) => {
    const tokensMs = streams === 0 ? 0 : passes({ tokens: 0, depth: 0, streams, step: 0 })
    const round = { tokens: streams, prompts: waiting, tokensMs }
    return Array.from({ length: waiting }, () => {
      const tokens = pacer.stepOf(round, { remaining: 8, depth: 0 })
      if (tokens > 0) pacer.measure(round, { tokens, depth: 0 })
      return tokens
    }).filter((tokens) => tokens > 0)
  }

  test('where the shortest step takes too long, others are read with it that take little longer', () => {
    const { pacer, read } = createReader()
    read(passes, { steps: 4 })
    read(passes, { steps: 4, streams: 1 })
    expect(shortPrompts(pacer, { streams: 0, waiting: 16 }).length).toBeGreaterThan(2)
    expect(shortPrompts(pacer, { streams: 8, waiting: 8 }).length).toBeGreaterThan(2)
  })

  test('steps of a round are as long as its first one where each length takes a separate pass, and the rest waits', () => {
    const { pacer, read } = createReader()
    read(passes, { steps: 4 })
    read(passes, { steps: 4, streams: 1 })
    const lengthsOf = (...remaining: number[]) => {
      const round = { tokens: 1, prompts: remaining.length, tokensMs: 123.5 }
      return remaining.map((one) => {
        const tokens = pacer.stepOf(round, { remaining: one, depth: 0 })
        if (tokens > 0) pacer.measure(round, { tokens, depth: 0 })
        return tokens
      })
    }
    expect(lengthsOf(9, 12, 8)).toEqual([9, 9, 0])
    expect(lengthsOf(8, 12, 4)).toEqual([8, 8, 0])
  })

  test.each([0, 1, 4, 8])('a round that is filled beside %d streams takes at most half as long again', (streams) => {
    const { read } = createReader()
    read(passes, { steps: 4 })
    const steps = read(passes, { steps: 60, streams, prompts: 2 }).slice(20)
    const leastMs = passes({ tokens: streams === 0 ? 16 : 8, depth: 0, streams, step: 0 })
    expect(Math.max(...steps.map(({ tookMs }) => tookMs))).toBeLessThan(1.51 * Math.max(leastMs, 250))
    if (streams > 1) expect(Math.min(...sizesOf(steps))).toBeGreaterThanOrEqual(24)
  })

  test('rounds are not filled where a token costs as much in any step', () => {
    const { read } = createReader()
    const slow = machine(0, 30)
    read(slow, { steps: 4 })
    const sizes = sizesOf(read(slow, { steps: 40, streams: 2, prompts: 2 }).slice(4))
    expect(new Set(sizes)).toEqual(new Set([8]))
  })

  test('a few tokens more than the shortest step are read in one', () => {
    const { pacer, read } = createReader()
    read(machine(100, 20), { steps: 10 })
    const stepOf = (remaining: number) => pacer.stepOf({ tokens: 1, prompts: 1, tokensMs: 120 }, { remaining, depth: 0 })
    expect([8, 12, 13, 100].map(stepOf)).toEqual([8, 12, 7, 8])
  })

  test('short prompts are read together where they fit', () => {
    const { pacer, read } = createReader()
    read(machine(10, 1), { steps: 10 })
    const round = { tokens: 0, prompts: 3, tokensMs: 0 }
    const sizes = [20, 30, 500].map((remaining) => {
      const tokens = pacer.stepOf(round, { remaining, depth: 0 })
      pacer.measure(round, { tokens, depth: 0 })
      return tokens
    })
    expect(sizes.slice(0, 2)).toEqual([20, 30])
    expect(sizes[2]).toBeGreaterThan(64)
  })
})

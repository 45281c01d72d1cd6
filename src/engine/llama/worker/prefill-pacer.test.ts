import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PrefillPacer } from './prefill-pacer.ts'
import { block } from './step-length.ts'

/** How long a machine computes a round: `tokens` of prompts, beside streams or not. */
type Machine = (tokens: number, step: number) => number

/** A round costs some time whatever is in it, and each token some more. */
const machine =
  (roundMs: number, tokenMs: number): Machine =>
  (tokens) =>
    roundMs + tokens * tokenMs

type Reading = { readonly steps: number; readonly prompts?: number; readonly streams?: number }

function createReader(largestStep = 504) {
  let nowMs = 0
  const pacer = new PrefillPacer({ largestStep, now: () => nowMs })
  /** Reads long prompts. Returns the tokens of each round, of all prompts. */
  const read = (computeMs: Machine, { steps, prompts = 1, streams = 0 }: Reading) =>
    Array.from({ length: steps }, (_, step) => {
      const round = { tokens: streams, prompts }
      const size = pacer.stepOf(round, 100_000 * block)
      const finish = Array.from({ length: prompts }, () => pacer.measure(round, size))
      nowMs += computeMs(size * prompts, step)
      for (const finished of finish) finished()
      return size * prompts
    })
  return { pacer, read }
}

describe('the length of steps in reading prompts', () => {
  test.each([
    { name: 'a fast machine fills its batch', roundMs: 2, tokenMs: 0.05, expected: 448 },
    { name: 'long steps are tried where short ones promise little', roundMs: 70, tokenMs: 0.7, expected: 192 },
    { name: 'a machine whose rounds take long, and tokens nothing', roundMs: 110, tokenMs: 0.05, expected: 448 },
    { name: 'a machine that takes the same time for each token', roundMs: 0, tokenMs: 5, expected: 32 },
    { name: 'a block may take a little longer than other steps', roundMs: 0, tokenMs: 3.6, expected: 64 },
    { name: 'a slow machine takes the shortest steps', roundMs: 100, tokenMs: 20, expected: 16 },
  ])('$name', ({ roundMs, tokenMs, expected }) => {
    const steps = createReader().read(machine(roundMs, tokenMs), { steps: 100 })
    // Now and then, a longer one is tried.
    expect(steps.filter((size) => size === expected).length).toBeGreaterThan(75)
    expect(steps.every((size) => size >= 16)).toBe(true)
  })

  test('on no machine does a step take more than 250 ms unless the shortest does', () => {
    const anyMachine = fc.record({
      roundMs: fc.double({ min: 0, max: 240, noNaN: true }),
      tokenMs: fc.double({ min: 0, max: 20, noNaN: true }),
    })
    fc.assert(
      fc.property(anyMachine, fc.integer({ min: 1, max: 2048 }), ({ roundMs, tokenMs }, largestStep) => {
        const computeMs = machine(roundMs, tokenMs)
        for (const size of createReader(largestStep).read(computeMs, { steps: 200 })) {
          expect(size).toBeLessThanOrEqual(largestStep)
          if (size > 16) expect(computeMs(size, 0)).toBeLessThanOrEqual(250)
        }
      }),
    )
  })

  test('a step that was slow by chance costs some length for some steps', () => {
    const steady = machine(40, 1.7)
    const steps = createReader().read((tokens, step) => (step === 40 ? 2000 : steady(tokens, step)), { steps: 80 })
    expect([steps[40], steps[41]]).toEqual([64, 32])
    expect(steps.slice(42, 49).every((size) => size === 32)).toBe(true)
    expect(steps.slice(49).filter((size) => size === 64).length).toBeGreaterThan(25)
  })

  test('noise does not keep steps short', () => {
    let seed = 1
    const noise = () => {
      seed = (seed * 48271) % 2147483647
      return 1 + (seed / 2147483647) * 0.5
    }
    const steps = createReader().read((tokens) => (40 + tokens * 1.2) * noise(), { steps: 400 })
    expect(steps.reduce((sum, size) => sum + size, 0) / steps.length).toBeGreaterThan(40)
  })

  test('a machine that becomes slower or faster is followed', () => {
    const { read } = createReader()
    expect(read(machine(10, 0.5), { steps: 60 }).at(-1)).toBeGreaterThanOrEqual(256)
    expect(read(machine(20, 4), { steps: 60 }).at(-1)).toBe(32)
    expect(read(machine(10, 0.5), { steps: 200 }).at(-1)).toBeGreaterThanOrEqual(256)
  })

  test('steps beside streams, which wait for them, are found separately', () => {
    const { read } = createReader()
    const alone = machine(10, 1)
    const beside = machine(70, 1)
    read(alone, { steps: 40 })
    const steps = read(beside, { steps: 40, streams: 7 })
    expect(Math.max(...steps.map((size) => beside(size, 0)))).toBeLessThan(250)
    expect(steps.at(-1)).toBeLessThanOrEqual(128)
    expect(read(alone, { steps: 1 })[0]).toBeGreaterThan(100)
  })

  test('prompts that are read in the same rounds share a step, which counts once', () => {
    const { read } = createReader()
    const alone = read(machine(10, 1), { steps: 40 })
    const eight = createReader().read(machine(10, 1), { steps: 40, prompts: 8 })
    expect(eight.at(-1)).toBe(alone.at(-1))
    expect(eight.slice(0, 3)).toEqual([16, 32, 64])
  })

  test('the end of a prompt says nothing about long steps', () => {
    let nowMs = 0
    const pacer = new PrefillPacer({ largestStep: 504, now: () => nowMs })
    for (let step = 0; step < 10; step++) {
      const finished = pacer.measure({ tokens: 0, prompts: 1 }, 3)
      nowMs += 5
      finished()
    }
    expect(pacer.stepOf({ tokens: 0, prompts: 1 }, 160)).toBe(16)
  })
})

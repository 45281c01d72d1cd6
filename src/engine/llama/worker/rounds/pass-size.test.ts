import { describe, expect, test } from 'vitest'
import { PassTimes } from '../../binding/pass-times.ts'
import { PassSize } from './pass-size.ts'

type Machine = (sequences: number) => number
/** Each pass reads the weights, whatever it computes. */
const memoryBound: Machine = (sequences) => 10 + sequences
/** One token is computed in a way of its own. */
const quickAlone: Machine = (sequences) => (sequences === 1 ? 6 : 9 * sequences)

/** Computes sequences that always wait, on a machine that may be changed meanwhile: what each pass takes of them. */
function createRun(sequences: number) {
  const times = new PassTimes()
  const size = new PassSize(times)
  return (machine: Machine, passes: number) =>
    Array.from({ length: passes }, () => {
      const taken = size.next(sequences)
      const count = taken === 'all' ? sequences : 1
      times.learn(count, machine(count))
      return taken
    })
}
const run = (machine: Machine, sequences: number, passes: number) => createRun(sequences)(machine, passes)

const share = (taken: readonly string[], what: string) => taken.filter((one) => one === what).length / taken.length

describe('sequences that generate a token', () => {
  test('sequences are computed in one pass where that is faster, apart from a few trials', () => {
    expect(share(run(memoryBound, 8, 4000), 'all')).toBeGreaterThan(0.98)
  })

  test('sequences are computed one by one where that is faster, a few tokens of each in a row', () => {
    const taken = run(quickAlone, 2, 400)
    expect(taken.slice(-16).join()).toContain('first,last,last,last,first,last,last,last')
    expect(share(taken, 'all')).toBeLessThan(0.05)
  })

  test('sequences are not computed one by one for a gain within the noise', () => {
    const equal: Machine = (sequences) => (sequences === 1 ? 9.7 : 10 * sequences)
    expect(share(run(equal, 2, 1000), 'all')).toBeGreaterThan(0.85)
  })

  test('the way of computing follows the machine, in both directions', () => {
    const runOn = createRun(3)
    runOn(quickAlone, 2000)
    runOn(memoryBound, 2000)
    expect(share(runOn(memoryBound, 100), 'all')).toBeGreaterThan(0.9)
    runOn(quickAlone, 4000)
    expect(share(runOn(quickAlone, 100), 'all')).toBeLessThan(0.1)
  })

  const slowOneByOne: Machine = (sequences) => (sequences === 1 ? 60 : 180 * sequences)
  test.each([
    ['in one pass', memoryBound, 2],
    ['in one pass', memoryBound, 4],
    ['in one pass', memoryBound, 16],
    ['one by one', quickAlone, 2],
    ['one by one, in long passes', slowOneByOne, 4],
  ])('trials lose little time (%s, %#)', (_, machine, sequences) => {
    const taken = run(machine, sequences, 40_000)
    const all = taken.filter((one) => one === 'all').length
    const ones = taken.length - all
    const tookMs = all * machine(sequences) + ones * machine(1)
    const bestMs = (all * sequences + ones) * Math.min(machine(1), machine(sequences) / sequences)
    expect(tookMs / bestMs).toBeLessThan(1.007)
  })

  test('the faster way is found soon after a trial that something else slowed down', () => {
    const runOn = createRun(2)
    const disturbed: Machine = (sequences) => (sequences === 1 ? 8.9 : 9 * sequences)
    runOn(disturbed, 40)
    expect(share(runOn(quickAlone, 60).slice(-20), 'all')).toBe(0)
  })

  test('sequences take turns after each pass where a pass is long, so that none waits long', () => {
    const slow: Machine = (sequences) => (sequences === 1 ? 80 : 200 * sequences)
    const taken = run(slow, 2, 400)
    expect(taken).not.toContain('last')
    expect(share(taken, 'first')).toBeGreaterThan(0.9)
  })

  test('a single sequence is one pass', () => {
    expect(new Set(run(quickAlone, 1, 50))).toEqual(new Set(['all']))
  })
})

import { describe, expect, test } from 'vitest'
import { readAtOnce, readInSteps, warmUp } from './prefill.ts'
import { PrefillPacer } from './prefill-pacer.ts'
import { Rounds } from './rounds.ts'

const prompt = Array.from({ length: 1000 }, (_, index) => index)

/** Reads on a machine that takes no time. `isOver` is asked with the steps so far. */
async function read(tokens: readonly number[], isOver: (steps: number) => boolean = () => false) {
  const steps: number[][] = []
  const pacer = new PrefillPacer({ largestStep: 504, now: () => 0 })
  const compute = async (step: number[]) => void steps.push(step)
  const isRead = await readInSteps(tokens, { pacer, rounds: new Rounds(), isOver: () => isOver(steps.length), depth: 0 }, compute)
  return { isRead, steps }
}

describe('reading a prompt in steps', () => {
  test("a prompt's tokens are computed once each, in order", async () => {
    const { isRead, steps } = await read(prompt)
    expect(isRead).toBe(true)
    expect(steps.flat()).toEqual(prompt)
    expect(steps.map((step) => step.length)).toEqual([16, 408, 448, 128])
  })

  test('reading stops for checkpoints, and takes each once', async () => {
    const steps: number[] = []
    const points: number[] = []
    const lasts: boolean[] = []
    let read = 100
    const compute = async (step: number[], isLast: boolean) => {
      steps.push(step.length)
      lasts.push(isLast)
      read += step.length
    }
    const stops = { stops: [90, 400, 1096, 1100], takeCheckpoint: async () => void points.push(read) }
    const pacer = new PrefillPacer({ largestStep: 504, now: () => 0 })
    await readInSteps(prompt, { pacer, rounds: new Rounds(), isOver: () => false, depth: 100, stops }, compute)
    expect(points).toEqual([400, 1096])
    expect(steps.reduce((sum, count) => sum + count)).toBe(1000)
    expect(lasts.indexOf(true)).toBe(lasts.length - 1)
  })

  test('reading ends between two steps when its request is over', async () => {
    const { isRead, steps } = await read(prompt, (count) => count === 2)
    expect([isRead, steps.flat().length]).toEqual([false, 424])
  })

  test('a request that ends while it waits for its round computes nothing', async () => {
    let asked = 0
    const { isRead, steps } = await read(prompt, () => asked++ > 0)
    expect([isRead, steps]).toEqual([false, []])
  })

  test.each([
    { name: 'a step', read: readInSteps<number> },
    { name: 'a whole text', read: readAtOnce<number> },
  ])('$name that is interrupted counts as not read, and no other failure does', async ({ read: readAll }) => {
    const events: string[] = []
    const rounds = new Rounds({ interrupt: { raise: () => void events.push('raise'), lower: () => void events.push('lower') } })
    const pacer = new PrefillPacer({ largestStep: 504, now: () => 0 })
    let isOver = false
    const reading = { pacer, rounds, isOver: () => isOver, depth: 0 }
    const failing = () => Promise.reject(new Error('broken'))
    await expect(readAll(prompt, reading, failing)).rejects.toThrow('broken')
    const cancelled = async () => {
      isOver = true
      rounds.interruptIfOver()
      throw new Error('interrupted')
    }
    expect(await readAll(prompt, reading, cancelled)).toBe(false)
    expect(events).toEqual(['raise', 'lower'])
  })

  test('an empty prompt takes no step', async () => {
    expect(await read([])).toEqual({ isRead: true, steps: [] })
  })

  test('two prompts at the same time share the rounds, one after the other where a round is full', async () => {
    const rounds = new Rounds()
    const pacer = new PrefillPacer({ largestStep: 504, now: () => 0 })
    const order: string[] = []
    const start = (name: string) =>
      readInSteps(
        prompt.slice(0, 30),
        { pacer, rounds, isOver: () => false, depth: 0 },
        async (step) => void order.push(`${name}${step.length}`),
      )
    await Promise.all([start('a'), start('b')])
    expect(order).toEqual(['a15', 'b30', 'a15'])
  })

  test('steps are longer after a warm-up, whose first step waited for the disk', async () => {
    let nowMs = 0
    const pacer = new PrefillPacer({ largestStep: 504, now: () => nowMs })
    const tookMs = [5000, 20]
    const compute = async () => {
      nowMs += tookMs.shift() ?? 0
    }
    await warmUp(compute, pacer)
    expect(pacer.stepOf({ tokens: 0, prompts: 1, tokensMs: 0 }, { remaining: 320, depth: 0 })).toBeGreaterThan(100)
  })
})

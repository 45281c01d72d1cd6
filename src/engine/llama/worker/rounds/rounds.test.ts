import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Round, Rounds } from './rounds.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Work that ends when the test says so, and the round that it began in. */
function createWork(rounds: Rounds, kind: 'tokens' | 'prompts' = 'tokens') {
  let end: () => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  const whenOver = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const work = { round: undefined as Round | undefined, end, fail }
  const ended = rounds.join(kind, (round) => {
    work.round = round
    return whenOver
  })
  return Object.assign(work, { ended })
}

describe('a round', () => {
  test('a round takes all waiting work, and starts it in one tick', async () => {
    const rounds = new Rounds()
    const works = [createWork(rounds), createWork(rounds, 'prompts'), createWork(rounds)]
    expect(works.map(({ round }) => round)).toEqual([undefined, undefined, undefined])
    await turn()
    expect(works.map(({ round }) => round)).toEqual(works.map(() => ({ tokens: 2, prompts: 1, tokensMs: 0 })))
  })

  test('a round ends with the last of its work; later arrivals join the next one', async () => {
    const rounds = new Rounds()
    const [quick, slow] = [createWork(rounds), createWork(rounds)]
    await turn()
    const late = createWork(rounds)
    quick.end()
    await quick.ended
    await turn()
    expect(late.round).toBeUndefined()
    slow.end()
    await slow.ended
    await turn()
    expect(late.round).toMatchObject({ tokens: 1, prompts: 0 })
  })

  test('a round computes nothing until all of it is prepared, and nothing is prepared for the next one', async () => {
    const rounds = new Rounds()
    const events: string[] = []
    const ends: (() => void)[] = []
    const join = (name: string, prepare?: () => Promise<boolean>) =>
      rounds.join('tokens', async () => void events.push(`compute ${name}`), prepare && { prepare })
    const prepare = (name: string) => () => {
      events.push(`prepare ${name}`)
      return new Promise<boolean>((resolve) => ends.push(() => resolve(true)))
    }
    const first = [join('a', prepare('a')), join('b'), join('c', prepare('c'))]
    await turn()
    const later = join('d', prepare('d'))
    ends[0]?.()
    await turn()
    expect(events).toEqual(['prepare a', 'prepare c'])
    ends[1]?.()
    await Promise.all(first)
    expect(events.slice(2, 5)).toEqual(['compute a', 'compute b', 'compute c'])
    await turn()
    ends[2]?.()
    await later
    expect(events.slice(5)).toEqual(['prepare d', 'compute d'])
  })

  test('a round that drafting made longer is not measured', async () => {
    let now = 0
    const rounds = new Rounds({ now: () => now })
    const seen: number[] = []
    const join = (tookMs: number, isLonger: boolean) => {
      const compute = async ({ tokensMs }: Round) => {
        seen.push(tokensMs)
        now += tookMs
      }
      return rounds.join('tokens', compute, { prepare: async () => isLonger })
    }
    for (const [tookMs, isLonger] of [
      [10, false],
      [70, true],
      [70, true],
      [70, true],
      [10, false],
    ] as const) {
      await join(tookMs, isLonger)
      await turn()
    }
    expect(seen).toEqual([0, 10, 10, 10, 10])
  })

  test('a round waits for all work that continues immediately, after however many promises', async () => {
    const rounds = new Rounds()
    const sizes: number[] = []
    const stream = async (hops: number) => {
      for (let token = 0; token < 5; token++) {
        await rounds.join('tokens', async (round) => void sizes.push(round.tokens))
        for (let hop = 0; hop < hops; hop++) await Promise.resolve()
      }
    }
    await Promise.all([stream(0), stream(3), stream(50)])
    expect(sizes).toEqual(Array.from({ length: 15 }, () => 3))
  })

  test('a round does not wait for work that pauses or has left', async () => {
    const rounds = new Rounds()
    const sizes: number[] = []
    let resume: () => void = () => undefined
    const pause = new Promise<void>((resolve) => {
      resume = resolve
    })
    const stream = async (tokens: number, paused?: Promise<void>) => {
      for (let token = 0; token < tokens; token++) {
        await rounds.join('tokens', async (round) => void sizes.push(round.tokens))
        if (token === 0) await paused
      }
    }
    const slow = stream(2, pause)
    await Promise.all([stream(1), stream(4)])
    expect(sizes).toEqual([3, 3, 3, 1, 1, 1])
    resume()
    await slow
    expect(sizes.at(-1)).toBe(1)
  })

  test('a failure leaves the other work of a round running, and the next round starts', async () => {
    const rounds = new Rounds()
    const [broken, sound] = [createWork(rounds), createWork(rounds)]
    await turn()
    broken.fail(new Error('no memory'))
    await expect(broken.ended).rejects.toThrow('no memory')
    const next = createWork(rounds)
    await turn()
    expect(next.round).toBeUndefined()
    sound.end()
    await sound.ended
    await turn()
    expect(next.round).toMatchObject({ tokens: 1, prompts: 0 })
  })

  test('a round with a prompt knows how long its tokens took without one', async () => {
    let nowMs = 0
    const rounds = new Rounds({ now: () => nowMs })
    const compute = async (tookMs: number) => {
      nowMs += tookMs
    }
    await Promise.all([rounds.join('tokens', () => compute(20)), rounds.join('tokens', () => compute(10))])
    const read = rounds.join('prompts', async (round) => {
      await compute(500)
      return round
    })
    const both = [rounds.join('tokens', () => compute(0)), rounds.join('tokens', () => compute(0))]
    expect(await read).toEqual({ tokens: 2, prompts: 1, tokensMs: 30 })
    await Promise.all(both)
    const next = createWork(rounds, 'prompts')
    const beside = [createWork(rounds), createWork(rounds)]
    await turn()
    expect(next.round).toEqual({ tokens: 2, prompts: 1, tokensMs: 30 })
    for (const work of [next, ...beside]) work.end()
  })

  test('a round without prompts takes one of the waiting sequences where that is faster', async () => {
    let nowMs = 0
    const rounds = new Rounds({ mayDivide: true, now: () => nowMs })
    const computed: string[] = []
    /** As on a machine that computes one token at once in 5 ms, and two in 20. */
    const generate = async (name: string) => {
      for (let token = 0; token < 40; token++) {
        await rounds.join('tokens', async ({ tokens }) => {
          nowMs += tokens === 1 ? 5 : 10
          computed.push(tokens === 1 ? name : 'both')
        })
      }
    }
    await Promise.all([generate('a'), generate('b')])
    expect(computed.join('').replaceAll('both', '').slice(8, 40)).toBe('aaaabbbb'.repeat(4))
    expect(computed.filter((name) => name === 'both').length).toBeLessThanOrEqual(12)

    const read = rounds.join('prompts', async (round) => round)
    await Promise.all([rounds.join('tokens', async () => undefined), rounds.join('tokens', async () => undefined)])
    expect(await read).toMatchObject({ tokens: 2, prompts: 1 })
  })

  test('work that throws before its first promise ends like any other', async () => {
    const rounds = new Rounds()
    const fail = (): Promise<void> => {
      throw new Error('at once')
    }
    await expect(rounds.join('tokens', fail)).rejects.toThrow('at once')
    expect(await rounds.join('tokens', async () => 'next')).toBe('next')
  })

  test('each stream comes to its end, and no two rounds overlap', async () => {
    const step = fc.record({
      kind: fc.constantFrom('tokens' as const, 'prompts' as const),
      computeTurns: fc.nat(3),
      pauseTurns: fc.nat(3),
      fails: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 6 }), async (streams) => {
        const rounds = new Rounds()
        const running = new Map<Round, number>()
        let ended = 0
        const runStream = async (steps: (typeof streams)[number]) => {
          for (const { kind, computeTurns, pauseTurns, fails } of steps) {
            const compute = async (round: Round) => {
              running.set(round, (running.get(round) ?? 0) + 1)
              expect(running.size).toBe(1)
              for (let at = 0; at < computeTurns; at++) await turn()
              running.set(round, (running.get(round) ?? 0) - 1)
              if (running.get(round) === 0) running.delete(round)
              if (fails) throw new Error('broken')
            }
            await rounds.join(kind, compute).catch(() => undefined)
            for (let at = 0; at < pauseTurns; at++) await turn()
          }
          ended += 1
        }
        await Promise.all(streams.map(runStream))
        expect(ended).toBe(streams.length)
      }),
      { numRuns: 60 },
    )
  })

  test('a round is interrupted when all participants are over, and beside streams only then', async () => {
    const events: string[] = []
    const interrupt = { raise: () => void events.push('raise'), lower: () => void events.push('lower') }
    const rounds = new Rounds({ interrupt })
    const over = new Set<string>()
    const ends: (() => void)[] = []
    const join = (name: string) =>
      rounds.join('prompts', () => new Promise<void>((resolve) => ends.push(resolve)), { isOver: () => over.has(name) })
    const end = async (works: Promise<unknown>[]) => {
      for (const one of ends.splice(0)) one()
      await Promise.all(works)
    }

    const first = [join('a')]
    rounds.interruptIfOver()
    await turn()
    rounds.interruptIfOver()
    expect(events).toEqual([])
    over.add('a')
    rounds.interruptIfOver()
    rounds.interruptIfOver()
    expect([events, rounds.isInterrupted]).toEqual([['raise'], true])
    await end(first)
    expect([events, rounds.isInterrupted]).toEqual([['raise', 'lower'], false])

    const beside = [join('a'), rounds.join('tokens', () => new Promise<void>((resolve) => ends.push(resolve)))]
    await turn()
    rounds.interruptIfOver()
    await end(beside)
    expect(events).toHaveLength(2)
  })

  test('a round of prompts is interrupted for any that is over, and the next one only for all', async () => {
    const raises: number[] = []
    const rounds = new Rounds({ interrupt: { raise: () => void raises.push(raises.length), lower: () => undefined } })
    const over = new Set<string>()
    /** Computes a round of these prompts, during which some are over. */
    const compute = async (names: readonly string[], ...ending: string[]) => {
      const ends: (() => void)[] = []
      const works = names.map((name) =>
        rounds.join(
          'prompts',
          async (round) => {
            await new Promise<void>((resolve) => ends.push(resolve))
            return round.endsForAny === true
          },
          { isOver: () => over.has(name) },
        ),
      )
      await turn()
      const before = raises.length
      for (const name of ending) over.add(name)
      rounds.interruptIfOver()
      const isInterrupted = raises.length > before
      for (const one of ends) one()
      const [endsForAny] = await Promise.all(works)
      return { endsForAny, isInterrupted }
    }
    expect(await compute(['a', 'b', 'c'])).toEqual({ endsForAny: true, isInterrupted: false })
    expect(await compute(['a', 'b', 'c'], 'a')).toEqual({ endsForAny: true, isInterrupted: true })
    expect(await compute(['b', 'c', 'd'], 'd')).toEqual({ endsForAny: false, isInterrupted: false })
    expect(await compute(['b', 'c'], 'c')).toEqual({ endsForAny: true, isInterrupted: true })
    expect(await compute(['b', 'e'], 'b', 'e')).toEqual({ endsForAny: false, isInterrupted: true })
  })
})

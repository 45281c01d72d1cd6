import { expect, test } from 'vitest'
import { median } from '../bench/report/report.ts'
import { comparedRows, grownRows, ratioRows } from '../bench/report/section.ts'
import { inTurns, startAll } from '../bench/rounds.ts'
import { agentSession } from '../bench/sessions/sessions.ts'

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect(median([9, 1, 2])).toBe(2)
  expect(median([9, 1, 2, 4])).toBe(3)
  expect(median([])).toBeNaN()
})

test('ratios are medians of the rounds, above 1 where ours is better', () => {
  const samples = new Map([
    ['dragoman', [10, 40, 30]],
    ['other', [20, 20, 10]],
  ])
  expect(comparedRows(samples, { isTime: false }).map(({ ratio }) => ratio)).toEqual([1, 2])
  expect(comparedRows(samples, { isTime: true }).map(({ ratio }) => ratio)).toEqual([1, 0.5])
  expect(comparedRows(samples, { isTime: false }).map((row) => row.median)).toEqual([30, 20])
})

test('ratios to other samples of the same name are of the same rounds; sizes are compared with the first', () => {
  const rows = ratioRows(new Map([['a', [1, 4, 9]]]), new Map([['a', [2, 4, 3]]]))
  expect(rows.map(({ ratio }) => ratio)).toEqual([1])
  const sizes = new Map([
    ['1k', [2]],
    ['2k', [5]],
  ])
  expect(grownRows(sizes).map(({ name, ratio }) => [name, ratio])).toEqual([
    ['1k', 1],
    ['2k', 2.5],
  ])
})

const targets = ['ours', 'a', 'b'].map((name) => ({ name }))

test('targets take turns, the order changes each round, and samples of a round have the same index', async () => {
  const order: string[] = []
  const measure = async ({ name }: { name: string }, round: number) => order.push(`${name}${round}`)
  const { samples, missing } = await inTurns(targets, measure, { rounds: 2, limitMs: 60_000 })
  expect(order).toEqual(['ours0', 'a0', 'b0', 'b1', 'a1', 'ours1'])
  expect([...samples]).toEqual([
    ['ours', [1, 6]],
    ['a', [2, 5]],
    ['b', [3, 4]],
  ])
  expect(missing).toEqual([])
})

test('one round is always measured, and none begins that would end after the limit', async () => {
  const { samples } = await inTurns(targets, async () => 1, { rounds: 5, limitMs: 0 })
  expect([...samples.values()]).toEqual([[1], [1], [1]])
})

test('a target that fails has a reason and no samples; ours must not fail', async () => {
  let runs = 0
  const measure = (failing: string) => async (target: { name: string }, round: number) => {
    if (target.name === failing && round === 1) throw new Error(`${failing} broke`)
    runs += 1
    return 1
  }
  const { samples, missing } = await inTurns(targets, measure('a'), { rounds: 3, limitMs: 60_000 })
  expect([...samples.keys()]).toEqual(['ours', 'b'])
  expect(missing).toEqual([{ name: 'a', reason: 'a broke' }])
  expect(runs).toBe(7)
  await expect(inTurns(targets, measure('ours'), { rounds: 3, limitMs: 60_000 })).rejects.toThrow('ours broke')
})

test('what cannot be started has a reason; ours must start', async () => {
  const start = (failing: string) => async (target: { name: string }) => {
    if (target.name === failing) throw new Error('no such program')
    return { port: target.name.length }
  }
  expect(await startAll(targets, start('b'))).toEqual({
    running: [
      { name: 'ours', port: 4 },
      { name: 'a', port: 1 },
    ],
    missing: [{ name: 'b', reason: 'no such program' }],
  })
  await expect(startAll(targets, start('ours'))).rejects.toThrow('no such program')
})

test('a session goes on from turn to turn, and its branches begin like it', () => {
  const session = agentSession({ systemTokens: 400, turns: 3, tokensPerWord: 2 })
  const sent = session.map(({ kind, messages }) => ({ kind, messages: messages(['one', 'two', 'three']) }))
  const of = (kind: string) => sent.find((step) => step.kind === kind)?.messages ?? []
  const turns = sent.filter(({ kind }) => kind === 'turn').map(({ messages }) => messages)
  expect(turns.map(({ length }) => length)).toEqual([4, 6])
  expect(turns[1]?.slice(0, 4)).toEqual(turns[0])
  expect(of('same again')).toEqual(turns[1])
  expect(of('edited question').slice(0, -1)).toEqual(turns[1]?.slice(0, -1))
  expect(of('after the subordinate').slice(0, 6)).toEqual(turns[1])
  expect(of('other conversation')[0]).toEqual(of('cold')[0])
  expect(of('subordinate')[0]).not.toEqual(of('cold')[0])
})

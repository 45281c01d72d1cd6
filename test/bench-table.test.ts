import { expect, test } from 'vitest'
import { formatNumber, median, sectionLines } from '../bench/report.ts'
import { inTurns, startAll } from '../bench/rounds.ts'
import { better, comparedRows, grownRows, ratioRows } from '../bench/section.ts'
import { predictMs, seaText, sizeName } from '../bench/sizes.ts'

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

test('numbers have three digits and no exponent', () => {
  expect([0.01234, 9.996, 99.96, 999.4, 999.6, 123_456.7].map(formatNumber)).toEqual([
    '0.0123',
    '10.0',
    '100',
    '999',
    '1000',
    '123457',
  ])
})

test('all sections are one table: ratios first, columns aligned, reasons in full', () => {
  const rows = comparedRows(
    new Map([
      ['dragoman', [1000, 2000, 3000]],
      ['proxy', [4000, 4000, 6000]],
    ]),
    { isTime: false },
  )
  const long = { name: 'LiteLLM', reason: 'it cannot be installed, for a reason that is longer than the whole table is wide' }
  const missing = [long, { name: 'SMG', reason: 'none' }]
  const one = { title: 'whole replies', ratio: better, unit: 'requests/s', rows, missing }
  const lines = sectionLines([one, { ...one, title: 'a longer title of a section', missing: [] }])
  expect(lines).toEqual([
    'whole replies                dragoman is better by  requests/s  rounds',
    '  dragoman                                    1.00        2000       3',
    '  proxy                                      0.500        4000       3',
    '  LiteLLM: it cannot be installed, for a reason that is longer than the whole table is wide',
    '  SMG: none',
    '',
    'a longer title of a section  dragoman is better by  requests/s  rounds',
    '  dragoman                                    1.00        2000       3',
    '  proxy                                      0.500        4000       3',
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

test('a text has the words that it should have, and a longer prompt takes more than its share', () => {
  expect(seaText(40).split(' ')).toHaveLength(40)
  const longerMs = predictMs({ size: 1000, ms: 10 }, 4000)
  expect(longerMs).toBeGreaterThan(40)
  expect(longerMs).toBeLessThan(160)
  expect([200, 1000, 128_000].map(sizeName)).toEqual(['200', '1k', '128k'])
})

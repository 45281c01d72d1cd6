import { describe, expect, test } from 'vitest'
import { type Dimension, type Found, searchSettings } from './search.ts'

const dimension = (name: string, ...values: unknown[]): Dimension => ({
  name,
  values: values.map((value) => ({ label: `${value}`, settings: { [name]: value } })),
})
const dimensions = [
  dimension('threads', 7, 1, 2, 4, 8),
  dimension('batchSize', 512, 64, 128, 256, 1024),
  dimension('flashAttention', true, false),
  dimension('cacheTypeK', undefined, 'q8_0', 'q4_0'),
]
type Settings = Readonly<Record<string, unknown>>

type Measure = (settings: Settings) => number | string

/** Searches without a limit. */
async function search(measure: Measure): Promise<Found> {
  const found = await searchSettings({ dimensions, measure: async (settings) => measure(settings), limitMs: 1e9 })
  if (typeof found === 'string') throw new Error(found)
  return found
}

/** A machine whose steps take `work` over its threads, and more where they are too many; each of its parts has another best value. */
function machine(seed: number) {
  const random = (salt: number) => Math.abs(Math.sin(seed * 12.9898 + salt * 78.233) * 43758.5453) % 1
  const [cores, spin, batchBest, flash, cache] = [2 + random(1) * 6, random(2) * 0.4, 6 + random(3) * 4, random(4), random(5)]
  return ({ threads, batchSize, flashAttention, cacheTypeK }: Settings) => {
    const used = Math.min(Number(threads), cores)
    const over = Math.max(0, Number(threads) - cores) * spin
    // A larger batch pays with more threads only.
    const batch = 1 + 0.05 * (Math.log2(Number(batchSize)) - batchBest * (0.8 + used / 20)) ** 2
    const attention = (flashAttention === true ? 1 : 0.8 + flash * 0.4) * (cacheTypeK === undefined ? 1 : 0.85 + cache * 0.4)
    return (1 / used + over) * batch * attention
  }
}

const grid: readonly Settings[] = dimensions.reduce<readonly Settings[]>(
  (all, { values }) => all.flatMap((one) => values.map(({ settings }) => ({ ...one, ...settings }))),
  [{}],
)

test('the settings are at most 5 % slower than the best of all combinations, after a fraction of their trials', async () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const seconds = machine(seed)
    let trials = 0
    const found = await search((settings) => {
      trials += 1
      return seconds(settings)
    })
    const best = Math.min(...grid.map(seconds))
    expect(best / found.seconds).toBeGreaterThanOrEqual(0.95)
    expect(found.endedEarly).toBe(false)
    expect(trials).toBeLessThan(grid.length / 3)
    expect(seconds(found.settings)).toBe(found.seconds)
  }
})

test('what each setting gains is told, and together they are the whole gain', async () => {
  const { chosen, firstSeconds, seconds } = await search(machine(3))
  expect(chosen.length).toBeGreaterThan(0)
  expect(chosen.reduce((product, { gain }) => product * gain, 1)).toBeCloseTo(firstSeconds / seconds)
})

test('a difference within the noise changes nothing', async () => {
  expect(await search(({ threads }) => 1 - Number(threads) / 1000)).toMatchObject({ chosen: [], seconds: 0.993 })
})

test('settings with which the model does not load are passed over, and the reason is told', async () => {
  const refuses: Measure = ({ threads, flashAttention }) => (flashAttention === false ? 'no' : 1 / Number(threads))
  const told: unknown[] = []
  const found = await searchSettings({
    dimensions,
    measure: async (settings) => refuses(settings),
    limitMs: 1e9,
    onTrial: (name, { label }, result) => void told.push([name, label, result]),
  })
  const { chosen } = found as Found
  expect(chosen.map(({ name, after }) => [name, after.label])).toEqual([['threads', '8']])
  expect(told).toContainEqual(['flashAttention', 'false', 'no'])
})

test('a model that cannot be measured as it is configured is not tuned', async () => {
  expect(await searchSettings({ dimensions, measure: async () => 'no memory', limitMs: 1e9 })).toBe('no memory')
})

describe('the time of a search', () => {
  /** Trials that take these times, and no longer than they may. */
  const searchWithin = async (limitMs: number, timeOf: (settings: Settings) => number) => {
    let nowMs = 0
    const tried: Settings[] = []
    const measure = async (settings: Settings, mostMs: number) => {
      tried.push(settings)
      const tookMs = timeOf(settings)
      nowMs += Math.min(tookMs, mostMs)
      return tookMs > mostMs ? 'takes too long' : tookMs / 1000
    }
    const found = await searchSettings({ dimensions, measure, limitMs, now: () => nowMs })
    return { found, tried, nowMs }
  }

  test('the best so far is kept when it is over, and no trial begins that would end behind it', async () => {
    const { found, tried, nowMs } = await searchWithin(3500, ({ threads }) => (threads === 7 ? 1000 : 900))
    expect([tried.length, nowMs]).toEqual([3, 2800])
    expect(found).toMatchObject({ endedEarly: true, seconds: 0.9 })
  })

  test('settings that are slower by far do not use it up', async () => {
    const { found } = await searchWithin(100_000, ({ threads }) => (threads === 1 ? 1e6 : 7000 / Number(threads)))
    expect(found).toMatchObject({ endedEarly: false, seconds: 7 / 8 })
  })
})

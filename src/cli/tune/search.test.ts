import { expect, test } from 'vitest'
import { type Dimension, searchSettings } from './search.ts'

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
    const measure = async (settings: Settings) => {
      trials += 1
      return seconds(settings)
    }
    const found = await searchSettings({ dimensions, measure, hasTime: () => true })
    const best = Math.min(...grid.map(seconds))
    expect(best / (found?.seconds ?? Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(0.95)
    expect(found?.endedEarly).toBe(false)
    expect(trials).toBeLessThan(grid.length / 3)
    expect(found && seconds(found.settings)).toBe(found?.seconds)
  }
})

test('what each setting gains is told, and together they are the whole gain', async () => {
  const found = await searchSettings({ dimensions, measure: async (settings) => machine(3)(settings), hasTime: () => true })
  const { chosen = [], firstSeconds = 0, seconds = 0 } = found ?? {}
  expect(chosen.length).toBeGreaterThan(0)
  expect(chosen.reduce((product, { gain }) => product * gain, 1)).toBeCloseTo(firstSeconds / seconds)
})

test('a difference within the noise changes nothing', async () => {
  const noisy = async ({ threads }: Settings) => 1 - Number(threads) / 1000
  const found = await searchSettings({ dimensions, measure: noisy, hasTime: () => true })
  expect(found).toMatchObject({ chosen: [], seconds: 0.993 })
})

test('settings with which the model does not load are passed over', async () => {
  const measure = async ({ threads, flashAttention }: Settings) => (flashAttention === false ? undefined : 1 / Number(threads))
  const found = await searchSettings({ dimensions, measure, hasTime: () => true })
  expect(found?.chosen.map(({ name, after }) => [name, after.label])).toEqual([['threads', '8']])
  expect(await searchSettings({ dimensions, measure: async () => undefined, hasTime: () => true })).toBeUndefined()
})

test('when time is over, the best so far is kept', async () => {
  let trials = 0
  const measure = async ({ threads }: Settings) => {
    trials += 1
    return 1 / Number(threads)
  }
  const found = await searchSettings({ dimensions, measure, hasTime: () => trials < 3 })
  expect(trials).toBe(3)
  expect(found).toMatchObject({ endedEarly: true, seconds: 1 / 7 })
})

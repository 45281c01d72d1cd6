import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mortalBus, startPrimary } from '../../../test/support/process/primary.ts'
import { SharedSlots } from './shared-slots.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Processes in front of a server with ten slots, of the model `m`; `end` ends one without a word. */
function start() {
  const join = startPrimary()
  return () => {
    let told = 0
    const { bus, end } = mortalBus(join, () => {
      told += 1
    })
    const slots = new SharedSlots(bus)
    const share = slots.of('m')
    const look = (hasBatches = true) => {
      slots.look(hasBatches)
      return slotsBeside(0)
    }
    const slotsBeside = (interactive: number) => share?.slotsOf(10, interactive)
    return { share, look, slotsBeside, told: () => told, end }
  }
}
/** Messages arrive. */
const arrive = () => vi.advanceTimersByTimeAsync(300)

test('processes with batches divide the slots that callers of all of them leave', async () => {
  const join = start()
  const processes = [join(), join(), join()]
  for (const process of processes) process.look()
  await arrive()
  /** The part of each, while the first runs this many requests of callers. */
  const parts = (interactive: number) => processes.map(({ slotsBeside }, index) => slotsBeside(index === 0 ? interactive : 0))
  expect(parts(0).sort()).toEqual([3, 3, 4])
  parts(4)
  await arrive()
  expect(parts(4).slice(1)).toEqual([2, 2])
  parts(30)
  await arrive()
  // Each goes on with one line.
  expect(parts(30).slice(1)).toEqual([1, 1])
})

test('a process hears at once that its part has become smaller, and of one that ends after seven seconds', async () => {
  const join = start()
  const [one, two] = [join(), join()]
  let heard = 0
  one.share?.onLess(() => {
    heard += 1
  })
  expect(one.look()).toBe(10)
  await arrive()
  expect(two.look()).toBe(5)
  await arrive()
  expect(heard).toBe(1)
  expect(one.slotsBeside(0)).toBe(5)
  two.end()
  await vi.advanceTimersByTimeAsync(6000)
  expect(one.look()).toBe(5)
  await vi.advanceTimersByTimeAsync(2000)
  expect(one.look()).toBe(10)
})

test('little is told while callers come and go, and nothing without batches', async () => {
  const join = start()
  const [one] = [join(), join()]
  for (const hasBatches of [false, true]) {
    one.look(hasBatches)
    for (let index = 0; index < 100; index += 1) {
      one.slotsBeside(index % 7)
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(one.told()).toBeLessThanOrEqual(hasBatches ? 7 : 0)
  }
})

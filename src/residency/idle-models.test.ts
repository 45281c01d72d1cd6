import { describe, expect, test } from 'vitest'
import { addModel, begin, createMemory, gate, signal, turns } from '../../test/support/resident-models.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { EngineState } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'

test('an idle model is unloaded after its time to live', async () => {
  const memory = createMemory()
  const hidden = addModel(memory, 'a')
  hidden.resident.remove()
  let unloads = 0
  const listeners = new Set<(state: EngineState) => void>()
  const left = gate()
  const engine = stubEngine({
    onState: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ensureReady: async (_signal, admit) => {
      await admit?.({ bytes: 1, longestContext: () => undefined, tooLarge: () => new AppError('internal', '') }, signal)
      for (const listener of listeners) listener({ type: 'ready' })
    },
    unload: async () => {
      unloads += 1
      left.open()
    },
  })
  const resident = memory.add({ id: 'brief', engine, isPinned: false, idleTtlMs: 20 })
  await resident.load(signal)
  expect(unloads).toBe(0)
  await left.opened
  expect(unloads).toBe(1)
})

describe('a model that a request keeps', () => {
  test('for no time is unloaded when nothing uses it, and is loaded as configured the next time', async () => {
    const memory = createMemory()
    const model = addModel(memory, 'brief')
    const running = await begin(model)
    model.resident.keepFor(0)
    await turns()
    expect(model.counts.unloads).toBe(0)
    running.end()
    await turns()
    expect(model.counts.unloads).toBe(1)
    ;(await begin(model)).end()
    await turns()
    expect(model.counts).toEqual({ loads: 2, unloads: 1 })
  })

  test('for a time shows when that is over; for ever, nothing', async () => {
    const memory = createMemory()
    const model = addModel(memory, 'kept')
    expect(model.resident.status.expiresAtMs).toBeUndefined()
    ;(await begin(model)).end()
    model.resident.keepFor(60_000)
    const { lastUsedMs, expiresAtMs = 0 } = model.resident.status
    expect(Math.round((expiresAtMs - lastUsedMs) / 1000)).toBe(60)
    model.resident.keepFor(Number.POSITIVE_INFINITY)
    expect(model.resident.status.expiresAtMs).toBeUndefined()
  })

  test('for no time while it is not loaded, is loaded as configured, and stays', async () => {
    const model = addModel(createMemory(), 'absent')
    model.resident.keepFor(0)
    ;(await begin(model)).end()
    await turns()
    expect(model.counts).toEqual({ loads: 1, unloads: 0 })
  })
})

import { expect, test } from 'vitest'
import type { Device, Engine } from '../../contract/engine.ts'
import { createDeviceMemory } from './device-memory.ts'

const gpu = (name: string, freeBytes: number): Device => ({ name, description: 'A GPU', freeBytes, totalBytes: 100 })

/** An engine that only has GPUs, and counts the questions. */
function engineWith(read: () => Promise<readonly Device[]>) {
  const asked = { count: 0 }
  const devices = {
    read: () => {
      asked.count += 1
      return read()
    },
  }
  return { engine: { capabilities: { devices } } as unknown as Engine, asked }
}
const without = { capabilities: {} } as unknown as Engine

test('the processes of all models are asked when somebody looks, at most once a second', async () => {
  let nowMs = 0
  let free = 60
  const one = engineWith(async () => [gpu('CUDA10', 7), gpu('CUDA2', free)])
  const other = engineWith(async () => [gpu('CUDA2', 50)])
  const read = createDeviceMemory({
    engines: () => [one.engine, other.engine, without],
    now: () => nowMs,
    patience: () => new AbortController().signal,
  })
  expect(one.asked.count).toBe(0)
  expect(await Promise.all([read(), read()])).toEqual([
    [gpu('CUDA2', 50), gpu('CUDA10', 7)],
    [gpu('CUDA2', 50), gpu('CUDA10', 7)],
  ])
  free = 10
  nowMs = 999
  expect((await read())[0]).toEqual(gpu('CUDA2', 50))
  expect(one.asked.count).toBe(1)
  nowMs = 1000
  expect((await read())[0]).toEqual(gpu('CUDA2', 10))
  expect(one.asked.count).toBe(2)
})

test('a process that does not answer keeps no reader waiting, and gets no second question', async () => {
  let nowMs = 0
  let isHung = false
  const { engine, asked } = engineWith(() => (isHung ? new Promise(() => undefined) : Promise.resolve([gpu('CUDA0', 1)])))
  const read = createDeviceMemory({
    engines: () => [engine],
    now: () => nowMs,
    patience: () => (isHung ? AbortSignal.abort() : new AbortController().signal),
  })
  expect(await read()).toEqual([gpu('CUDA0', 1)])
  isHung = true
  for (nowMs of [2000, 4000]) expect(await read()).toEqual([gpu('CUDA0', 1)])
  expect(asked.count).toBe(2)
})

test('what the process of a model had is gone with it', async () => {
  let nowMs = 0
  let hasEnded = false
  const { engine } = engineWith(async () => (hasEnded ? Promise.reject(new Error('ended')) : [gpu('CUDA0', 1)]))
  const read = createDeviceMemory({ engines: () => [engine], now: () => nowMs, patience: () => new AbortController().signal })
  expect(await read()).toHaveLength(1)
  hasEnded = true
  nowMs = 1000
  expect(await read()).toEqual([])
})

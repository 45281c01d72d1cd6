import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { ChurnMap } from '../../../src/base/churn.ts'
import { collectGarbage, isFullCollection } from './collect-garbage.ts'

type Churning = { set(key: number, value: unknown): unknown; delete(key: number): boolean }

let full = 0
const observer = new PerformanceObserver((list) => {
  full += list.getEntries().filter(isFullCollection).length
})
observer.observe({ entryTypes: ['gc'] })

/** Full collections while so many short-lived objects pass through a map whose table has become an old object. */
async function fullCollections(map: Churning): Promise<number> {
  const pass = (count: number) => {
    for (let id = 0; id < count; id++) {
      map.set(id, new Array(1000).fill(id))
      map.delete(id - 16)
    }
  }
  pass(1000)
  collectGarbage()
  await pause(50)
  full = 0
  pass(200_000)
  await pause(50)
  return full
}

// A process of its own: its heap has nothing else.
console.log(JSON.stringify({ churnMap: await fullCollections(new ChurnMap()), map: await fullCollections(new Map()) }))

import { expect, test } from 'vitest'
import type { Engine, EngineState } from '../../contract/engine.ts'
import { LoadTimes } from './load-times.ts'

/** An engine that only has states. */
function engine() {
  let listener: ((state: EngineState) => void) | undefined
  const fake = { state: { type: 'stopped' }, onState: (added: typeof listener) => (listener = added) }
  return { engine: fake as unknown as Engine, change: (state: EngineState) => listener?.(state) }
}

test('the last load is measured from its start until the model is ready', () => {
  let nowMs = 0
  const times = new LoadTimes({ now: () => nowMs })
  const { engine: loading, change } = engine()
  times.watch(loading)
  expect(times.secondsOf(loading)).toBeUndefined()
  const load = (ms: number, end: EngineState) => {
    change({ type: 'starting' })
    nowMs += ms / 2
    change({ type: 'loading', progress: 0.5 })
    nowMs += ms / 2
    change(end)
  }
  load(3000, { type: 'ready' })
  expect(times.secondsOf(loading)).toBe(3)
  load(9000, { type: 'failed', reason: 'no memory' })
  expect(times.secondsOf(loading)).toBe(3)
  load(1000, { type: 'ready' })
  expect(times.secondsOf(loading)).toBe(1)
})

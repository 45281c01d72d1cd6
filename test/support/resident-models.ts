import { setMaxListeners } from 'node:events'
import type { Admit, Engine, EngineState, MemoryNeed } from '../../src/contract/engine.ts'
import { AppError } from '../../src/contract/errors.ts'
import type { Resident } from '../../src/contract/residency.ts'
import type { Scheduler } from '../../src/contract/scheduler.ts'
import { ModelMemory } from '../../src/residency/model-memory.ts'
import { stubEngine } from './upstream/stub-engine.ts'

/** Of callers that stay. */
export const { signal } = new AbortController()
setMaxListeners(0, signal)
export const caller = { id: 'r', principal: { id: 'p', scopes: new Set<never>() }, signal }
const log = { info: () => undefined, warn: () => undefined }
export const turns = () => new Promise((resolve) => setImmediate(resolve))

/** Memory of 10 for models that may go as soon as they are idle or their load has ended. */
export function createMemory() {
  return new ModelMemory({ budgetBytes: 10, minResidencyMs: 0, idleGraceMs: 0, now: () => performance.now(), log })
}

/** A model whose loads end when the test says so, or at once; it counts them. */
export function addModel(
  memory: ModelMemory,
  id: string,
  { bytes = 6, slots = 1, finish = async () => undefined as unknown } = {},
) {
  let state: EngineState = { type: 'stopped' }
  const listeners = new Set<(state: EngineState) => void>()
  const enter = (next: EngineState) => {
    state = next
    for (const listener of listeners) listener(next)
  }
  let attempt = new AbortController()
  let loading: Promise<void> | undefined
  let reserve: Admit | undefined
  const counts = { loads: 0, unloads: 0 }
  let lentBytes = 0
  const need: MemoryNeed = {
    bytes,
    longestContext: (budget) => budget * 100,
    tooLarge: (budget) => new AppError('model-unavailable', `${id} needs ${bytes} of ${budget}`),
  }
  const load = async () => {
    attempt = new AbortController()
    enter({ type: 'starting' })
    try {
      await reserve?.(need, attempt.signal)
      enter({ type: 'loading', progress: 0 })
      counts.loads += 1
      await finish()
      attempt.signal.throwIfAborted()
      enter({ type: 'ready' })
    } catch (error) {
      if (!attempt.signal.aborted) enter({ type: 'failed', reason: String(error) })
      throw error
    } finally {
      loading = undefined
    }
  }
  const spareMemory = {
    use(bytes: number) {
      lentBytes = bytes
    },
  }
  const parts = stubEngine({
    capabilities: { spareMemory },
    onState: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ensureReady: (_signal, admit = reserve) => {
      reserve = admit
      if (state.type === 'ready') return Promise.resolve()
      loading ??= load()
      return loading
    },
    unload: async () => {
      counts.unloads += 1
      attempt.abort(new AppError('shutting-down', 'it is being unloaded'))
      await loading?.catch(() => undefined)
      enter({ type: 'stopped' })
    },
  })
  const engine = Object.defineProperty(parts, 'state', { get: () => state })
  const resident: Resident = memory.add({ id, engine, isPinned: false })
  const crash = () => enter({ type: 'failed', reason: 'killed' })
  return {
    resident,
    engine,
    counts,
    lent: () => lentBytes,
    crash,
    scheduler: resident.gate(slotScheduler(slots, engine.ensureReady)),
  }
}

/** First come, first served. */
function slotScheduler(slots: number, ensureReady: Engine['ensureReady']): Scheduler {
  let free = slots
  const waiting: (() => void)[] = []
  return {
    whenIdle: async () => undefined,
    get load() {
      return { slots, busy: slots - free, queued: 0, lanes: { interactive: 0, background: 0 }, refused: 0 }
    },
    enter: () => {
      let held = false
      const release = () => {
        if (!held) return
        held = false
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      }
      return {
        ready: ensureReady,
        slot: async () => {
          if (free > 0) free -= 1
          else await new Promise<void>((resolve) => waiting.push(resolve))
          held = true
        },
        release,
        charge: () => undefined,
        leave: release,
      }
    },
  }
}

/** A request that holds its slot until `end`. */
export async function begin({ scheduler }: { readonly scheduler: Scheduler }, by: AbortSignal = signal) {
  const ticket = scheduler.enter(caller)
  try {
    await ticket.ready(by)
    await ticket.slot({}, by)
  } catch (error) {
    ticket.leave()
    throw error
  }
  return { end: () => ticket.leave() }
}

/** A promise that the test resolves. */
export function gate() {
  let open: (value?: unknown) => void = () => undefined
  const opened = new Promise<unknown>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

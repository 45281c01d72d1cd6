import { setMaxListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { Admit, Engine, EngineState, MemoryNeed } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { Resident } from '../contract/residency.ts'
import type { Scheduler } from '../contract/scheduler.ts'
import { ModelMemory } from './model-memory.ts'

const { signal } = new AbortController()
setMaxListeners(0, signal)
const caller = { id: 'r', principal: { id: 'p', scopes: new Set<never>() }, signal }
const log = { info: () => undefined, warn: () => undefined }
const turns = () => new Promise((resolve) => setImmediate(resolve))

/** Memory of 10 for models that may go as soon as they are idle or their load has ended. */
function createMemory() {
  return new ModelMemory({ budgetBytes: 10, minResidencyMs: 0, idleGraceMs: 0, now: () => performance.now(), log })
}

/** A model whose loads end when the test says so, or at once; it counts them. */
function addModel(memory: ModelMemory, id: string, { bytes = 6, slots = 1, finish = async () => undefined as unknown } = {}) {
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
  const parts = stubEngine({
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
  return { resident, engine, counts, crash, scheduler: resident.gate(slotScheduler(slots, engine.ensureReady)) }
}

/** First come, first served. */
function slotScheduler(slots: number, ensureReady: Engine['ensureReady']): Scheduler {
  let free = slots
  const waiting: (() => void)[] = []
  return {
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
async function begin({ scheduler }: { readonly scheduler: Scheduler }, by: AbortSignal = signal) {
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
function gate() {
  let open: (value?: unknown) => void = () => undefined
  const opened = new Promise<unknown>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

describe('requests for models that share the memory', () => {
  test('load their model, and find it loaded when it fits beside the others', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a', { bytes: 5 }), addModel(memory, 'b', { bytes: 5 })]
    for (const model of [a, b, a, b]) (await begin(model)).end()
    expect([a.counts, b.counts]).toEqual([
      { loads: 1, unloads: 0 },
      { loads: 1, unloads: 0 },
    ])
    expect(memory.memory()).toEqual({ budgetBytes: 10, usedBytes: 10 })
  })

  test('wait until the other model has ended what it runs', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    const first = await begin(a)
    const second = begin(b)
    await turns()
    expect(memory.status()).toMatchObject([
      { id: 'a', state: 'loaded', bytes: 6, busy: 1, waiting: 0 },
      { id: 'b', state: 'waiting', bytes: 6, busy: 0, waiting: 1 },
    ])
    expect(a.counts.unloads).toBe(0)
    first.end()
    ;(await second).end()
    expect(memory.status()).toMatchObject([{ state: 'absent' }, { state: 'loaded' }])
  })

  test('that wait for a slot of a model do not keep it, and get their slot when it is back', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    const order: string[] = []
    const running = await begin(a)
    const serve = async (name: string, model: typeof a) => {
      const { end } = await begin(model)
      order.push(name)
      end()
    }
    const queued = ['a1', 'a2', 'a3'].map((name) => serve(name, a))
    await turns()
    const other = serve('b', b)
    await turns()
    running.end()
    await Promise.all([...queued, other])
    expect(order).toEqual(['b', 'a1', 'a2', 'a3'])
    expect(a.counts).toEqual({ loads: 2, unloads: 1 })
  })

  test('may leave while they wait; the model is then not loaded for them', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    const running = await begin(a)
    const gone = new AbortController()
    const waiting = begin(b, gone.signal)
    await turns()
    gone.abort(new Error('the client has left'))
    await expect(waiting).rejects.toThrow('the client has left')
    await turns()
    expect(b.counts.loads).toBe(0)
    expect(memory.status()).toMatchObject([{ state: 'loaded' }, { state: 'absent', waiting: 0 }])
    running.end()
  })

  test('learn why a load failed, and the next one tries again', async () => {
    const memory = createMemory()
    let isDamaged = true
    const finish = async () => {
      await turns()
      if (isDamaged) throw new Error('the file is damaged')
    }
    const a = addModel(memory, 'a', { finish })
    await expect(Promise.all([begin(a), begin(a)])).rejects.toThrow('the file is damaged')
    expect(memory.memory().usedBytes).toBe(0)
    isDamaged = false
    ;(await begin(a)).end()
  })

  test('are refused for a model that needs more memory than there is in all, with its numbers', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a', { bytes: 11 })
    await expect(begin(a)).rejects.toThrow('a needs 11 of 10')
    expect(a.counts.loads).toBe(0)
  })

  test('are admitted and refused by a budget that has changed, with its numbers', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a', { bytes: 11 })
    memory.changeLimits({ budgetBytes: 12, minResidencyMs: 0, idleGraceMs: 0 })
    expect(memory.memory().budgetBytes).toBe(12)
    ;(await begin(a)).end()
    expect(a.resident.longestContext).toBe(1200)
    memory.changeLimits({ budgetBytes: 9, minResidencyMs: 0, idleGraceMs: 0 })
    await expect(begin(addModel(memory, 'b', { bytes: 10 }))).rejects.toThrow('b needs 10 of 9')
  })

  test('get the memory of a model that failed for good', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    await begin(a)
    const waiting = begin(b)
    await turns()
    a.crash()
    ;(await waiting).end()
  })

  test('are all served when many alternate between models that do not fit together', async () => {
    const memory = createMemory()
    const models = [addModel(memory, 'a'), addModel(memory, 'b'), addModel(memory, 'c', { bytes: 4, slots: 2 })] as const
    const serve = async (model: (typeof models)[number]) => {
      const { end } = await begin(model)
      await turns()
      expect(model.engine.state.type === 'ready' || model.resident.status.state === 'loaded').toBe(true)
      end()
    }
    await Promise.all(Array.from({ length: 300 }, (_, index) => serve(models[index % 3] ?? models[0])))
    expect(memory.status().map(({ busy, waiting }) => busy + waiting)).toEqual([0, 0, 0])
    expect(memory.memory().usedBytes).toBeLessThanOrEqual(10)
  })
})

describe('commands', () => {
  test('load a model in the place of another, and unload it', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    await a.resident.load(signal)
    await b.resident.load(signal)
    expect(memory.status()).toMatchObject([{ state: 'absent' }, { state: 'loaded' }])
    await b.resident.unload({ drainMs: 0, force: false })
    expect(memory.memory().usedBytes).toBe(0)
  })

  test('preload into free memory only', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    expect(await a.resident.preload(signal)).toBe(true)
    expect(await b.resident.preload(signal)).toBe(false)
    expect([a.resident.comesAndGoes, b.resident.comesAndGoes]).toEqual([false, true])
    ;(await begin(b)).end()
  })

  test('unload a model in use when its requests have ended; new ones load it again', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a')
    const running = await begin(a)
    const unloaded = a.resident.unload({ drainMs: 60_000, force: false })
    const late = begin(a)
    await turns()
    expect(a.counts.unloads).toBe(0)
    running.end()
    await unloaded
    ;(await late).end()
    expect(a.counts).toEqual({ loads: 2, unloads: 1 })
  })

  test('leave a model alone whose requests do not end in time, unless forced', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a')
    await begin(a)
    await expect(a.resident.unload({ drainMs: 1, force: false })).rejects.toThrow(
      "model 'a' is not unloaded: requests that use it: 1; try again later, wait longer, or force it",
    )
    expect(a.resident.status.state).toBe('loaded')
    await a.resident.unload({ drainMs: 1, force: true })
    expect([a.counts.unloads, a.resident.status.state]).toEqual([1, 'absent'])
  })

  test('cancel a load at any step', async () => {
    const memory = createMemory()
    const { open, opened } = gate()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b', { finish: () => opened })]
    const running = await begin(a)
    const waiting = begin(b)
    await turns()
    expect(b.resident.cancelLoad()).toBe(true)
    await expect(waiting).rejects.toThrow("the load of model 'b' was cancelled; try again")
    running.end()
    const loading = begin(b)
    await turns()
    await turns()
    expect(b.counts.loads).toBe(1)
    expect(b.resident.cancelLoad()).toBe(true)
    open()
    await expect(loading).rejects.toThrow('it is being unloaded')
    expect(a.resident.cancelLoad()).toBe(false)
  })

  test('remove a model: who waits is refused, and older requests are no longer in the way', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    const running = await begin(a)
    const waiting = begin(b)
    await turns()
    b.resident.remove()
    await expect(waiting).rejects.toThrow("model 'b' has been removed")
    a.resident.remove()
    running.end()
    expect(memory.status()).toEqual([])
  })
})

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

test('a request that waits for a model gets the reason', async () => {
  const memory = createMemory()
  const { open, opened } = gate()
  const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b', { finish: () => opened })]
  const running = await begin(a)
  const places: (() => unknown)[] = []
  const waiting = begin({
    scheduler: { ...b.scheduler, enter: () => b.scheduler.enter({ ...caller, onLoading: (place) => places.push(place) }) },
  })
  const placeNow = () => places.at(-1)?.()
  expect(placeNow()).toEqual({ state: 'waiting-for-memory' })
  running.end()
  while (b.counts.loads === 0) await turns()
  expect(placeNow()).toEqual({ state: 'loading', progress: 0 })
  open()
  ;(await waiting).end()
  expect(placeNow()).toBeUndefined()
  expect(places).toHaveLength(1)
})

test('the longest context of a model is that of the whole budget, and not known before its first load', async () => {
  const model = addModel(createMemory(), 'first')
  expect(model.resident.longestContext).toBeUndefined()
  await model.resident.load(signal)
  expect(model.resident.longestContext).toBe(1000)
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

  test('does not come back by being told to go when it is not there', async () => {
    const model = addModel(createMemory(), 'absent')
    model.resident.keepFor(0)
    ;(await begin(model)).end()
    await turns()
    expect(model.counts).toEqual({ loads: 1, unloads: 0 })
  })
})

import { describe, expect, test } from 'vitest'
import { addModel, begin, caller, createMemory, gate, signal, turns } from '../../test/support/resident-models.ts'

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

  test('lend half of what they leave to those that are loaded, until others need it', async () => {
    const memory = createMemory()
    const [a, b, c] = [
      addModel(memory, 'a', { bytes: 2 }),
      addModel(memory, 'b', { bytes: 4 }),
      addModel(memory, 'c', { bytes: 4 }),
    ]
    ;(await begin(a)).end()
    expect([a, b, c].map(({ lent }) => lent())).toEqual([4, 0, 0])
    ;(await begin(b)).end()
    expect([a, b, c].map(({ lent }) => lent())).toEqual([1, 1, 0])
    ;(await begin(c)).end()
    expect([a, b, c].map(({ lent }) => lent())).toEqual([0, 0, 0])
    expect(a.counts.unloads + b.counts.unloads).toBe(0)
  })

  test('requests wait until the other model has ended what it runs', async () => {
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

  test('requests that wait for a slot of a model do not keep it, and get their slot when it is back', async () => {
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
    await expect.poll(() => memory.status()).toMatchObject([{ id: 'a' }, { id: 'b', waiting: 1 }])
    running.end()
    await Promise.all([...queued, other])
    expect(order).toEqual(['b', 'a1', 'a2', 'a3'])
    expect(a.counts).toEqual({ loads: 2, unloads: 1 })
  })

  test('requests may leave while they wait; the model is then not loaded for them', async () => {
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

  test('requests are refused for a model that needs more memory than there is in all, with its numbers', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a', { bytes: 11 })
    await expect(begin(a)).rejects.toThrow('a needs 11 of 10')
    expect(a.counts.loads).toBe(0)
  })

  test('requests are admitted and refused by a budget that has changed, with its numbers', async () => {
    const memory = createMemory()
    const a = addModel(memory, 'a', { bytes: 11 })
    memory.changeLimits({ budgetBytes: 12, minResidencyMs: 0, idleGraceMs: 0 })
    expect(memory.memory().budgetBytes).toBe(12)
    ;(await begin(a)).end()
    expect(a.resident.longestContext()).toBe(1200)
    memory.changeLimits({ budgetBytes: 9, minResidencyMs: 0, idleGraceMs: 0 })
    await expect(begin(addModel(memory, 'b', { bytes: 10 }))).rejects.toThrow('b needs 10 of 9')
  })

  test('requests get the memory of a model that failed for good', async () => {
    const memory = createMemory()
    const [a, b] = [addModel(memory, 'a'), addModel(memory, 'b')]
    await begin(a)
    const waiting = begin(b)
    await turns()
    a.crash()
    ;(await waiting).end()
  })

  test('requests are all served when many alternate between models that do not fit together', async () => {
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

  test('commands leave a model alone whose requests do not end in time, unless forced', async () => {
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
  expect(model.resident.longestContext()).toBeUndefined()
  await model.resident.load(signal)
  expect(model.resident.longestContext()).toBe(1000)
})

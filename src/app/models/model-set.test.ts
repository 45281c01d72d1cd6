import { describe, expect, test, vi } from 'vitest'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { FairScheduler } from '../../core/schedule/fair-scheduler.ts'
import { ModelCatalogue } from './catalogue.ts'
import { type OwnModel, type Registered, registerOwnModel, type StartObserver } from './create-model.ts'
import { ModelSet } from './model-set.ts'

const silent: StartObserver = { onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined }
const { signal } = new AbortController()

/** A model on an engine that counts its loads and closes. */
function counting(id: string, options: Partial<OwnModel> = {}) {
  const counts = { loads: 0, closes: 0 }
  let hear: (state: { type: 'ready' }) => void = () => undefined
  const engine = stubEngine({
    onState: (listener) => {
      hear = listener
      return () => undefined
    },
    ensureReady: async () => {
      counts.loads += 1
      hear({ type: 'ready' })
    },
    close: async () => {
      counts.closes += 1
    },
  })
  const model = registerOwnModel(
    { id, engine, ...options },
    { createScheduler: (settings) => new FairScheduler(settings), limits: {} },
  )
  return { model, counts }
}

function setOf(...models: readonly Registered[]): ModelSet {
  const set = new ModelSet(silent)
  void set.change(() => models)
  return set
}

const enter = (model: Registered) => model.scheduler.enter({ id: 'r', principal: { id: 'p', scopes: new Set() }, signal })

describe('a change of the models', () => {
  test('adds and removes names at once, in the order given, and calls listeners', () => {
    const [a, b, c] = [counting('a'), counting('b', { aliases: ['x'] }), counting('c')]
    const set = setOf(a.model, b.model)
    const listener = vi.fn()
    const stop = set.onChange(listener)
    void set.change(([first]) => [c.model, ...(first === undefined ? [] : [first])])
    expect(set.all().map(({ id }) => id)).toEqual(['c', 'a'])
    expect(set.resolve('c', {})).toBe(c.model)
    expect(() => set.resolve('x', {})).toThrow("model 'x' not found; available: c, a")
    stop()
    void set.change((models) => models)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  test('that gives two models one name is refused, and nothing has changed', async () => {
    const [a, b] = [counting('a'), counting('b', { aliases: ['a'] })]
    const set = setOf(a.model)
    expect(() => set.change((models) => [...models, b.model])).toThrow("'a' is already a name of the model 'a'")
    expect(set.all()).toEqual([a.model])
    expect(a.counts.closes).toBe(0)
  })

  test('frees a removed model only when its last request has ended', async () => {
    const old = counting('a')
    const set = setOf(old.model)
    const resolved = set.resolve('a', {})
    const ticket = enter(resolved)
    void set.change(() => [counting('a').model])
    expect(set.resolve('a', {})).not.toBe(resolved)
    await new Promise((resolve) => setImmediate(resolve))
    expect(old.counts.closes).toBe(0)
    ticket.leave()
    await expect.poll(() => old.counts.closes).toBe(1)
  })

  test('frees a removed model again that a late request has loaded', async () => {
    const old = counting('a')
    const set = setOf(old.model)
    const resolved = set.resolve('a', {})
    void set.change(() => [])
    await expect.poll(() => old.counts.closes).toBe(1)
    const ticket = enter(resolved)
    await ticket.ready(signal)
    ticket.leave()
    await expect.poll(() => old.counts.closes).toBe(2)
  })

  test('loads a new model that loads at start, but only once the others may load', async () => {
    const [a, b] = [counting('a', { load: 'start' }), counting('b', { load: 'start' })]
    const set = setOf(a.model)
    expect(a.counts.loads).toBe(0)
    set.load()
    await set.whenReady()
    expect(a.counts.loads).toBe(1)
    void set.change((models) => [...models, b.model])
    await expect.poll(() => b.counts.loads).toBe(1)
    expect(set.summary('b', {}).isAwaited).toBe(false)
  })

  test('leaves no removed model open when the set closes', async () => {
    const old = counting('a')
    const set = setOf(old.model)
    enter(set.resolve('a', {}))
    void set.change(() => [])
    await set.close()
    expect(old.counts.closes).toBe(1)
  })
})

test('a model is found by a name of it, if the caller may use it', () => {
  const set = setOf(counting('a').model, counting('b', { aliases: ['bee'] }).model)
  const find = (name: string, ...models: string[]) => set.find(name, models.length === 0 ? {} : { models })?.id
  expect([find('bee'), find('b', 'b'), find('bee', 'a'), find('gone')]).toEqual(['b', 'b', undefined, undefined])
})

test('a name in other letters is found without asking any server of a fleet for its state', () => {
  const replicas = vi.fn(() => [])
  const engine = stubEngine({ capabilities: { fleet: { replicas } } as never })
  const models = setOf(
    registerOwnModel({ id: 'Fleet', engine }, { createScheduler: (settings) => new FairScheduler(settings), limits: {} }),
  )
  const catalogue = new ModelCatalogue({
    models,
    folder: { refresh: () => false } as never,
    listings: { lookFor: () => undefined } as never,
  })
  expect(catalogue.inAnyCase.get('fleet', {}).id).toBe('Fleet')
  expect(replicas).not.toHaveBeenCalled()
})

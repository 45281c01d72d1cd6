import { expect, test } from 'vitest'
import type { SiblingDuties } from '../contract/server/siblings.ts'
import { MinuteCounter } from '../quota/minute-counter.ts'
import { joinPrimary } from './membership.ts'
import { PrimaryState } from './primary-state.ts'

/** A primary state with workers whose messages pass a structured clone, as between processes. */
function start() {
  const primary = new PrimaryState(new MinuteCounter())
  const join = (duties: Partial<SiblingDuties> = {}) => {
    const send = (take: (message: unknown) => void) => (message: object) => {
      const copy = structuredClone(message)
      queueMicrotask(() => take(copy))
    }
    const worker = joinPrimary({ send: send((message) => port.take(message)) })
    const port = primary.connect({ send: send((message) => worker.take(message)) })
    worker.siblings.join({
      cancel: () => 0,
      decide: () => false,
      isReady: () => true,
      readMetrics: async () => [],
      usePreset: () => undefined,
      drain: () => undefined,
      notePassed: () => undefined,
      readActivity: () => ({ run: 'r', requests: [], cursor: { ended: 0, seen: 0, changes: 0 }, missed: 0, hasMore: false }),
      findRequest: () => undefined,
      ...duties,
    })
    return { ...worker.siblings, end: () => port.close() }
  }
  return { primary, join }
}
const cancel = { by: 'k', isAdmin: false, cancelId: 'c', replyIds: [] }

test('a decision about a call reaches the worker in which it waits', async () => {
  const { join } = start()
  const decision = { callId: 'c', isApproved: false, reason: 'no', by: 'k', isAdmin: false }
  const seen: unknown[] = []
  const one = join({ decide: () => expect.unreachable('it has looked itself') })
  expect(await one.decide(decision)).toBe(false)
  join({ decide: (given) => seen.push(given) > 0 })
  join()
  expect(await one.decide(decision)).toBe(true)
  expect(seen).toEqual([decision])
})

test('readers of requests get those of the others, which may be without one', async () => {
  const { join } = start()
  const question = { recent: 3, limit: 5, place: { r: { ended: 1, seen: 1, changes: 2 } } }
  const page = { run: 'r', requests: [], cursor: { ended: 2, seen: 2, changes: 3 }, missed: 1, hasMore: false }
  const request = { id: 'a', requestId: 'b', owner: 'k', route: '/', startedAtMs: 1, state: { type: 'done' } } as const
  const one = join({ readActivity: () => expect.unreachable('it has looked itself') })
  const asked: unknown[] = []
  join({
    readActivity: (given) => {
      asked.push(given)
      return page
    },
    findRequest: (id, owner) => (id === 'a' && owner === 'k' ? request : undefined),
  })
  join({ readActivity: () => ({ ...page, run: 's' }) })
  expect((await one.readActivity(question)).map(({ run }) => run)).toEqual(['r', 's'])
  expect(asked).toEqual([question])
  expect([await one.findRequest('a', 'k'), await one.findRequest('a', undefined)]).toEqual([request, undefined])
})

test('a cancel goes to the others, and counts what they cancelled', async () => {
  const { join } = start()
  const seen: unknown[] = []
  const one = join({ cancel: () => 100 })
  join({ cancel: (given) => seen.push(given) })
  join({ cancel: () => 2 })
  expect(await one.cancels.publish(cancel)).toBe(3)
  expect(seen).toEqual([cancel])
})

test('what is locked by one is free again when it unlocks or ends', async () => {
  const { join } = start()
  const [one, two] = [join(), join()]
  const unlock = await one.lock('conversation')
  expect(await two.lock('conversation')).toBeUndefined()
  unlock?.()
  expect(await two.lock('conversation')).toBeDefined()
  two.end()
  expect(await one.lock('conversation')).toBeDefined()
})

test('limits hold for all together', async () => {
  const { join } = start()
  const [one, two] = [join(), join()]
  const share = { requests: 1, tokens: 0, isStretched: false }
  const taken = await Promise.all(
    Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? one : two).usage.take('a', share, { requestsPerMinute: 3 })),
  )
  expect(taken.filter((usage) => usage !== undefined).map(({ requests }) => requests)).toEqual([1, 2, 3])
  expect(await two.usage.read('a')).toMatchObject({ requests: 3 })
})

test('all are ready when each is; one that does not answer is left out', async () => {
  const { join } = start()
  let isReady = false
  const one = join()
  const two = join({ isReady: () => isReady })
  expect(await one.areReady()).toBe(false)
  isReady = true
  expect(await one.areReady()).toBe(true)
  isReady = false
  two.end()
  expect(await one.areReady()).toBe(true)
})

test('metrics are summed; what one counted that has ended stays, and what it had does not', async () => {
  const { join } = start()
  const metric = (type: string, name: string, value: number) => ({
    name,
    help: name,
    type,
    aggregator: 'sum',
    values: [{ labels: {}, value }],
  })
  const read = (counted: number) => async () => [metric('counter', 'served', counted), metric('gauge', 'busy', 1)]
  const one = join({ readMetrics: read(2) })
  const two = join({ readMetrics: read(3) })
  expect(await one.renderMetrics()).toMatch(/^served 5$[\s\S]*^busy 2$/m)
  two.end()
  expect(await one.renderMetrics()).toMatch(/^served 5$[\s\S]*^busy 1$/m)
})

test('a preset is used by all, the one that asks included, and known to those that come later', async () => {
  const { primary, join } = start()
  const used: string[] = []
  const note = (name: string) => join({ usePreset: ({ type }) => used.push(`${name} ${type}`) })
  const one = note('one')
  note('two')
  await one.usePreset({ type: 'none' })
  expect(used).toEqual(['one none', 'two none'])
  expect(primary.preset).toEqual({ type: 'none' })
})

test('a server is taken out of use by all, the one that asks included, and known to those that come later', async () => {
  const { primary, join } = start()
  const heard: string[] = []
  const note = (name: string) => join({ drain: ({ url, isDraining }) => heard.push(`${name} ${url} ${isDraining}`) })
  const one = note('one')
  note('two')
  await one.drain({ model: 'm', url: 'a', isDraining: true })
  await one.drain({ model: 'm', url: 'b', isDraining: true })
  await one.drain({ model: 'm', url: 'a', isDraining: false })
  expect(heard).toEqual(['one a true', 'two a true', 'one b true', 'two b true', 'one a false', 'two a false'])
  expect(primary.drains).toEqual([{ model: 'm', url: 'b', isDraining: true }])
})

test('what has passed a check of one is known to the others', async () => {
  const { join } = start()
  const heard: string[] = []
  const note = (name: string) => join({ notePassed: ({ model, urls }) => heard.push(`${name} ${model} ${urls.join()}`) })
  const one = note('one')
  note('two')
  note('three')
  one.tellPassed({ model: 'm', urls: ['a', 'b'] })
  await expect.poll(() => heard).toEqual(['two m a,b', 'three m a,b'])
})

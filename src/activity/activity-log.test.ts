import { describe, expect, test } from 'vitest'
import { shareOver, startPrimary } from '../../test/support/process/primary.ts'
import { AppError } from '../contract/errors.ts'
import type { ActivityQuestion, ProcessPage } from '../contract/server/activity.ts'
import { ActivityLog } from './activity-log.ts'
import { ServerActivity } from './server-activity.ts'

type Asked = Partial<ActivityQuestion> & { readonly after?: ProcessPage }

function start({ mostEnded = 3, run: name = 'one' } = {}) {
  const clock = { ms: 1000 }
  const log = new ActivityLog({ epoch: () => clock.ms, run: name, mostEnded })
  const open = (id: string, owner = 'alice') => {
    const request = log.open({ id, requestId: `req-${id}`, owner, route: '/v1/chat/completions', hasNoReply: true })
    request.began('m')
    return request
  }
  const run = (id: string, owner?: string) => {
    open(id, owner)
    log.closed(id)
  }
  const read = ({ after, ...more }: Asked = {}) =>
    log.read({ recent: 10, limit: 10, ...more, ...(after !== undefined && { place: { [name]: after.cursor } }) })
  return { log, clock, open, run, read }
}
const everyone = undefined
const usage = { inputTokens: 9, cachedInputTokens: 4, outputTokens: 3, reasoningTokens: 0 }
const record = { id: 'a', caller: 'alice', model: 'm', outcome: 'ok', durationMs: 5, usage } as const

describe('a reader', () => {
  test('gets what ended, in order, then what runs, and later only what is new', () => {
    const { log, open, run, read } = start()
    run('a')
    const request = open('b')
    const first = read()
    expect(first.requests.map(({ id, state }) => [id, state.type])).toEqual([
      ['a', 'done'],
      ['b', 'preparing'],
    ])
    expect(read({ after: first }).requests).toEqual([])
    request.observe({ type: 'start', model: 'm', warnings: [], inputTokens: 9 })
    const second = read({ after: first })
    expect(second.requests).toMatchObject([{ id: 'b', state: { type: 'reading-prompt' }, usage: { inputTokens: 9 } }])
    log.closed('b')
    const third = read({ after: second })
    expect(third.requests).toMatchObject([{ id: 'b', state: { type: 'done' } }])
  })

  test('hears how many it has missed, and continues with those that are kept', () => {
    const { run, read } = start({ mostEnded: 3 })
    const before = read({ recent: 0 })
    for (const id of 'abcde') run(id)
    const page = read({ after: before })
    expect([page.missed, page.requests.map(({ id }) => id)]).toEqual([2, ['c', 'd', 'e']])
    expect(read({ after: page }).missed).toBe(0)
  })

  test('hears of its own that it has missed, and begins with the last ones of its own', () => {
    const { run, read } = start({ mostEnded: 3 })
    for (const [id, owner] of [
      ['a', 'alice'],
      ['b', 'bob'],
    ] as const)
      run(id, owner)
    const before = read({ owner: 'alice' })
    expect([before.missed, before.requests.map(({ id }) => id)]).toEqual([0, ['a']])
    for (const [id, owner] of [
      ['c', 'bob'],
      ['d', 'alice'],
      ['e', 'alice'],
      ['f', 'bob'],
      ['g', 'alice'],
      ['h', 'bob'],
    ] as const)
      run(id, owner)
    const page = read({ owner: 'alice', after: before })
    expect([page.missed, page.requests.map(({ id }) => id)]).toEqual([2, ['g']])
    expect(read({ owner: 'alice', after: page }).missed).toBe(0)
    expect(read({ owner: 'eve', after: read({ owner: 'eve', recent: 0 }) }).missed).toBe(0)
    for (const id of 'xyz') run(id, 'bob')
    // None of its own is kept any more.
    expect(read({ owner: 'alice', after: before }).missed).toBe(3)
    expect(read({ owner: 'bob', recent: 1 }).requests.map(({ id }) => id)).toEqual(['z'])
  })

  test('of several processes gets the requests of all, each from where it has read', async () => {
    const [one, two] = [start(), start({ run: 'two' })]
    const join = startPrimary()
    const server = new ServerActivity(one.log, shareOver(join().primary))
    new ServerActivity(two.log, shareOver(join().primary))
    one.run('a')
    two.run('b')
    two.open('c')
    const first = await server.read({ recent: 10, limit: 10 })
    expect(first.requests.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    two.log.closed('c')
    for (const id of 'defgh') two.run(id)
    const second = await server.read({ recent: 10, limit: 2, place: first.place })
    expect([second.requests.map(({ id }) => id), second.missed, second.hasMore]).toEqual([['f', 'g'], 3, true])
    expect(await server.find('h', 'alice')).toMatchObject({ id: 'h' })
    expect(await server.find('h', 'bob')).toBeUndefined()
  })

  test('gets many in pages, and what runs with the last of them', () => {
    const { open, run, read } = start({ mostEnded: 10 })
    for (const id of 'abc') run(id)
    open('d')
    const first = read({ limit: 2 })
    expect([first.requests.map(({ id }) => id), first.hasMore]).toEqual([['a', 'b'], true])
    const second = read({ after: first, limit: 2 })
    expect([second.requests.map(({ id }) => id), second.hasMore]).toEqual([['c', 'd'], false])
  })

  test('of one key sees no other', () => {
    const { log, open, run, read } = start()
    run('a', 'bob')
    open('b', 'bob')
    open('c', 'alice')
    const idsOf = (owner: string) => read({ owner }).requests.map(({ id }) => id)
    expect([idsOf('alice'), idsOf('bob'), idsOf('eve')]).toEqual([['c'], ['a', 'b'], []])
    expect(log.find('a', 'alice')).toBeUndefined()
    expect(log.find('a', 'bob')).toMatchObject({ id: 'a' })
    expect(log.find('b', everyone)).toMatchObject({ id: 'b' })
  })

  test('begins with the last ones that it asks for', () => {
    const { run, read } = start({ mostEnded: 5 })
    for (const id of 'abcd') run(id)
    expect(read({ recent: 2 }).requests.map(({ id }) => id)).toEqual(['c', 'd'])
  })
})

describe('a request', () => {
  const stateOf = ({ log }: Pick<ReturnType<typeof start>, 'log'>) => log.find('a', everyone)?.state

  test('is not shown before it is work for a model, and never where it is none', () => {
    const { log, read } = start()
    log.open({ id: 'a', requestId: 'r', owner: 'alice', route: '/props', hasNoReply: true })
    expect(read().requests).toEqual([])
    log.closed('a')
    expect(read().requests).toEqual([])
  })

  test('goes from its queue over its model and its prompt to its text', () => {
    const state = start()
    const request = state.open('a')
    let position: number | undefined = 3
    request.onQueued(() => (position === undefined ? undefined : { position, estimatedWaitMs: 50 }))
    expect(stateOf(state)).toEqual({ type: 'waiting', position: 3, estimatedWaitMs: 50 })
    position = 2
    // Nobody reports that another has left the queue.
    const before = state.read({ recent: 0 })
    position = 1
    expect(state.read({ after: before }).requests).toMatchObject([{ state: { position: 1 } }])
    position = undefined
    let progress: number | undefined = 0.4
    request.onLoading(() => (progress === undefined ? undefined : { state: 'loading', progress }))
    expect(stateOf(state)).toEqual({ type: 'loading', place: { state: 'loading', progress: 0.4 } })
    progress = undefined
    const diverged = { at: ['prompt', 'messages', 3], part: 'text', kind: 'date', missedTokens: 9 } as const
    request.observe({ type: 'start', model: 'm', warnings: [], diverged })
    expect(stateOf(state)).toEqual({ type: 'reading-prompt' })
    request.observe({ type: 'prompt-read', inputTokens: 9, cachedInputTokens: 4 })
    for (const text of ['a', 'b']) request.observe({ type: 'raw-text', choice: 0, text })
    expect(state.log.find('a', everyone)).toMatchObject({
      state: { type: 'generating' },
      usage: { inputTokens: 9, cachedInputTokens: 4, outputTokens: 2 },
      diverged,
    })
    request.ended({ ...record, timings: { queueMs: 2 }, finishReasons: ['stop'] })
    state.clock.ms += 7
    state.log.closed('a')
    expect(state.log.find('a', everyone)).toMatchObject({
      state: { type: 'done' },
      startedAtMs: 1000,
      endedAtMs: 1007,
      usage,
      timings: { queueMs: 2 },
      finishReasons: ['stop'],
    })
  })

  test('says who has cancelled it, and why', () => {
    const { log, open } = start()
    open('a').ended({ ...record, outcome: 'cancelled' })
    log.stopped('a', { reason: 'requested', by: 'root' })
    log.closed('a')
    expect(log.find('a', everyone)).toMatchObject({ state: { type: 'cancelled' }, stopped: { reason: 'requested', by: 'root' } })
  })

  test('that fails has the code and the words of its failure, also before a model is known', () => {
    const { log, open } = start()
    const error = new AppError('engine-failed', 'the process has ended')
    open('a').ended({ ...record, outcome: 'engine-failed' }, error)
    open('b').failed(new AppError('model-not-found', 'no such model'))
    for (const id of 'ab') log.closed(id)
    expect(log.find('a', everyone)).toMatchObject({
      state: { type: 'failed' },
      error: { code: 'engine-failed', message: 'the process has ended' },
    })
    expect(log.find('b', everyone)).toMatchObject({ state: { type: 'failed' }, error: { code: 'model-not-found' } })
  })

  test('of several generations has the tokens of all', () => {
    const { log, open } = start()
    const request = open('a')
    for (let index = 0; index < 2; index++) request.ended(record)
    expect(log.find('a', everyone)?.usage).toEqual({ inputTokens: 18, cachedInputTokens: 8, outputTokens: 6, reasoningTokens: 0 })
  })

  test('that embeds or ranks has the tokens that it has read', () => {
    const { log, open } = start()
    const request = open('a')
    for (const tokens of [5, 2]) request.hasRead(tokens)
    log.closed('a')
    expect(log.find('a', everyone)).toMatchObject({ state: { type: 'done' }, usage: { inputTokens: 7, outputTokens: 0 } })
    expect(log.reading()).toMatchObject({ inputTokens: 7 })
  })

  test('has its attempts at servers, the last ones of many', () => {
    const { log, open } = start()
    const request = open('a')
    const begin = { server: 'one:1', kind: 'vllm', model: 'm', retry: 0 } as const
    const usage = { inputTokens: 10, cachedInputTokens: 8, outputTokens: 1, reasoningTokens: 0 }
    for (let index = 0; index < 25; index++) request.attempted(begin, { outcome: 'busy', error: `${index}` })
    request.attempted(begin, { outcome: 'ok', usage })
    const attempts = log.find('a', everyone)?.attempts
    expect([attempts?.length, attempts?.at(-2), attempts?.at(-1)]).toEqual([
      20,
      { server: 'one:1', outcome: 'busy', error: '24' },
      { server: 'one:1', outcome: 'ok', isCacheHit: true },
    ])
  })

  test('over HTTP is over when its reply is, which may be an error that comes last', () => {
    const { log } = start()
    const request = log.open({ id: 'a', requestId: 'r', owner: 'alice', route: '/v1/messages' })
    request.began()
    log.closed('a')
    expect(log.reading()).toMatchObject({ running: 1, ended: 0 })
    request.failed(new AppError('invalid-request', 'bad'))
    request.replied()
    expect(log.reading()).toMatchObject({ running: 0, ended: 1, failed: 1 })
  })
})

test('a reading counts the tokens that were read and written, the engine’s own count at the end', () => {
  const { log, open } = start()
  const request = open('a')
  request.observe({ type: 'start', model: 'm', warnings: [] })
  request.observe({ type: 'raw-text', choice: 0, text: 'x' })
  expect(log.reading()).toMatchObject({ inputTokens: 0, outputTokens: 1, running: 1 })
  request.observe({ type: 'usage', usage, timings: {} })
  request.ended({ ...record, timings: { firstTokenMs: 12 } })
  log.closed('a')
  expect(log.reading()).toMatchObject({ inputTokens: 5, outputTokens: 3, ended: 1, firstTokenMs: [12] })
  expect(log.reading().firstTokenMs).toEqual([])
})

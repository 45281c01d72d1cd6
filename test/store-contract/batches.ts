import { expect, test } from 'vitest'
import type { Batch, BatchLine, ClaimedLine } from '../../src/contract/server/batches.ts'
import { uniqueId } from '../support/stored.ts'
import { type OpenStore, useStore } from './suite.ts'

const usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }
const claim = { model: 'm', groupings: 4, ready: new Map<string, number>(), untilMs: Date.now() + 1e9 }

export function describeBatches(open: OpenStore): void {
  const opened = useStore(open)

  /** A batch whose lines have these groupings, in order. */
  async function create(groupings: readonly string[]) {
    const batch: Batch = {
      id: uniqueId('batch'),
      owner: 'ann',
      form: 'openai',
      state: 'running',
      createdAtMs: Date.now(),
      deadlineMs: Date.now() + 1e9,
      endpoint: '/v1/completions',
      times: {},
      counts: { total: groupings.length, succeeded: 0, errored: 0, cancelled: 0, expired: 0 },
      usage,
    }
    const lines = groupings.map((grouping, index): BatchLine => {
      return { line: index + 1, customId: `${index}`, model: 'm', grouping, body: '{}' }
    })
    await opened.store.batches.create(batch)
    await opened.store.batches.addLines(batch.id, lines)
    return { ...batch, runner: uniqueId('runner') }
  }
  const groupingsOf = (lines: readonly ClaimedLine[]) => lines.map(({ grouping }) => grouping).join('')

  test('lines are claimed from several groupings, as many of each, and those of small ones together', async () => {
    const { batches } = opened.store
    const { id, runner } = await create([...'aaaaaaabbbbbbbccccccc'])
    const next = async (limit: number, groupings: number, ready = {}) =>
      groupingsOf(await batches.claim(id, { ...claim, runner, limit, groupings, ready: new Map(Object.entries(ready)) }))
    expect(await next(4, 2)).toBe('aabb')
    expect(await next(3, 8, { a: 2, b: 1 })).toBe('bcc')
    // SQLite counts twice what it finds both in a grouping and in order, PostgreSQL once.
    const third = await next(6, 1)
    expect(['aaaaa', 'aaaaab']).toContain(third)
    expect(third + (await next(100, 2))).toBe('aaaaabbbbccccc')
    const different = await create([...'hgfedcba'])
    const claimed = await batches.claim(different.id, { ...claim, runner, limit: 6, groupings: 2 })
    expect(['abcd', 'abcdef']).toContain(groupingsOf(claimed))
  })

  test('each line is claimed once by runners that claim together', async () => {
    const { batches } = opened.store
    const { id } = await create(Array.from({ length: 60 }, (_, index) => `${index % 3}`))
    const runners = [uniqueId('runner'), uniqueId('runner'), uniqueId('runner')]
    const claimed: number[] = []
    for (let turn = 0; turn < 20; turn += 1) {
      const lines = await Promise.all(runners.map((runner) => batches.claim(id, { ...claim, runner, limit: 7 })))
      claimed.push(...lines.flat().map(({ line }) => line))
    }
    expect(claimed.sort((one, other) => one - other)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
  })

  test('results are counted for the runner that has the line, and only once', async () => {
    const { batches } = opened.store
    const { id, runner } = await create([...'aaa'])
    await batches.claim(id, { ...claim, runner, limit: 2 })
    const used = { inputTokens: 5, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 1 }
    const done = { batchId: id, line: 1, ending: 'succeeded', status: 200, reply: '{"a":1}', usage: used } as const
    await batches.finish(uniqueId('runner'), [done])
    await batches.finish(runner, [done, { batchId: id, line: 2, ending: 'errored', status: 400 }])
    await batches.finish(runner, [done])
    await batches.endWaiting(id, 'expired')
    const found = await batches.find('ann', id)
    expect(found?.counts).toEqual({ total: 3, succeeded: 1, errored: 1, cancelled: 0, expired: 1 })
    expect(found?.usage).toEqual(used)
    expect(await batches.results(id, 1, 5)).toEqual([
      { line: 2, customId: '1', ending: 'errored', status: 400 },
      { line: 3, customId: '2', ending: 'expired' },
    ])
    expect(await batches.hasWork(id)).toBe(false)
  })

  test('lines are free again when their lease ends, or not before a time when they are given back', async () => {
    const { batches } = opened.store
    const { id, runner } = await create([...'aa'])
    await batches.claim(id, { ...claim, runner, limit: 1, untilMs: Date.now() - 1 })
    await batches.claim(id, { ...claim, runner: uniqueId('runner'), limit: 1 })
    await batches.freeAbandoned()
    const [again, ...others] = await batches.claim(id, { ...claim, runner, limit: 9 })
    expect([again?.line, others]).toEqual([1, []])
    await batches.giveBack(runner, { batchId: id, line: 1, attempts: 1, notBeforeMs: Date.now() + 1e9 })
    expect(await batches.claim(id, { ...claim, runner, limit: 9 })).toEqual([])
    await batches.giveBack(runner, { batchId: id, line: 1, attempts: 1, notBeforeMs: 0 })
    expect(await batches.waitingModels(id)).toEqual([])
  })

  test('above the limit of the store, the oldest batches that have ended are deleted', async () => {
    const store = await open({ maxBytes: 1_000_000 })
    const { batches } = store
    const make = async (state: Batch['state'], createdAtMs: number) => {
      const { id, runner } = await create([...'ab'])
      const batch: Batch = { ...((await batches.find('ann', id)) as Batch), id: uniqueId('batch'), state, createdAtMs }
      await batches.create(batch)
      await batches.addLines(batch.id, [{ line: 1, customId: 'a', model: 'm', grouping: 'a', body: '{}' }])
      await batches.claim(batch.id, { ...claim, runner, limit: 1 })
      await batches.finish(runner, [{ batchId: batch.id, line: 1, ending: 'succeeded', reply: 'y'.repeat(600_000) }])
      return batch.id
    }
    const ids = [await make('running', 1), await make('completed', 2), await make('completed', 3), await make('running', 4)]
    await store.prune(Date.now())
    const found = await Promise.all(ids.map((id) => batches.find('ann', id)))
    expect(found.map((batch) => batch !== undefined)).toEqual([true, false, true, true])
    await store.close()
  })
}

import { describe, expect, test } from 'vitest'
import type { StoredResponse } from '../../src/contract/store.ts'
import { item, items, response } from '../support/stored.ts'
import { addConversation, idsOf, type OpenStore, useStore } from './suite.ts'

/** Saving, finding and running responses. */
export function describeResponses(open: OpenStore): void {
  const opened = useStore(open)
  describe('responses', () => {
    test('a response is found as it was saved', async () => {
      const saved = response({ input: items(3), output: items(2), previousId: 'resp_before', conversationId: 'conv_gone' })
      await opened.store.responses.save(saved)
      expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
    })

    test.each(['', '\u0000', '\uD800', '😀 "quoted" \\', "'; drop table responses; --"])(
      'any text comes back: %j',
      async (text) => {
        const saved = response({ json: { text }, output: [item({ text })] })
        await opened.store.responses.save(saved)
        expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
      },
    )

    test('an id with any characters is not found, and no failure', async () => {
      for (const id of ['', '\u0000', 'a\u0000b', '\uD800', "'", '%', 'x'.repeat(10_000)]) {
        expect(await opened.store.responses.find('ann', id)).toBeUndefined()
        expect(await opened.store.conversations.findItem('ann', id, id)).toBeUndefined()
        expect(await opened.store.responses.findItems('ann', [id])).toEqual([])
      }
    })

    test('what becomes of a response replaces its state and its output, and keeps its input', async () => {
      const queued = response({ status: 'queued', input: items(2), leaseUntilMs: Date.now() + 60_000 })
      await opened.store.responses.save(queued)
      await opened.store.responses.save({ ...queued, status: 'in_progress', output: items(3) })
      const output = items(1)
      const { leaseUntilMs, ...ended } = { ...queued, status: 'completed' as const, json: { done: true }, output }
      await opened.store.responses.save({ ...ended, input: [] })
      expect(leaseUntilMs).toBeGreaterThan(0)
      expect(await opened.store.responses.find('ann', queued.id)).toEqual(ended)
    })

    test('a response ends once: what is saved later changes nothing', async () => {
      const ended = response({ status: 'failed', output: items(1) })
      await opened.store.responses.save(ended)
      await opened.store.responses.save({ ...ended, status: 'completed', output: items(4), json: { late: true } })
      await opened.store.responses.save({ ...ended, status: 'in_progress', leaseUntilMs: Date.now() + 60_000 })
      expect(await opened.store.responses.find('ann', ended.id)).toEqual(ended)
    })

    test('the id of another owner is refused, and what is there stays', async () => {
      const saved = response({ status: 'in_progress' })
      await opened.store.responses.save(saved)
      await expect(opened.store.responses.save({ ...saved, owner: 'bob', json: {} })).rejects.toMatchObject({
        code: 'request-conflict',
      })
      expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
    })

    test('responses are listed by their age, page by page, also those of one moment', async () => {
      const owner = `lister ${Math.random()}`
      const saved = [1, 2, 2, 2, 3].map((createdAtMs) =>
        response({ owner, createdAtMs: Date.now() + createdAtMs, output: items(1) }),
      )
      for (const one of saved) await opened.store.responses.save(one)
      const first = await opened.store.responses.list(owner, { limit: 2, order: 'asc' })
      const last = first.responses.at(-1)?.id ?? ''
      const rest = await opened.store.responses.list(owner, { limit: 3, order: 'asc', after: last })
      expect([first.hasMore, rest.hasMore]).toEqual([true, false])
      const all = [...first.responses, ...rest.responses]
      expect(new Set(all.map(({ id }) => id))).toEqual(new Set(saved.map(({ id }) => id)))
      expect(all[0]).toEqual(saved[0])
      const newest = await opened.store.responses.list(owner, { limit: 9, order: 'desc' })
      expect(newest.responses).toEqual(all.toReversed())
      const lost = opened.store.responses.list(owner, { limit: 9, order: 'desc', after: 'resp_none' })
      await expect(lost).rejects.toMatchObject({ code: 'not-found' })
    })

    test('a deleted response is gone, with its items and events', async () => {
      const saved = response({ status: 'in_progress', input: items(2) })
      await opened.store.responses.save(saved)
      await opened.store.responses.addEvents(saved.id, [{ sequence: 0, json: '{}' }])
      expect(await opened.store.responses.delete('ann', saved.id)).toBe(true)
      expect(await opened.store.responses.delete('ann', saved.id)).toBe(false)
      expect(await opened.store.responses.find('ann', saved.id)).toBeUndefined()
      expect(await opened.store.responses.findItems('ann', idsOf(saved.input) ?? [])).toEqual([])
      expect(await opened.store.responses.events('ann', saved.id, -1, 10)).toEqual([])
    })
  })

  describe('responses that run', () => {
    const running = (more: Partial<StoredResponse> = {}) =>
      response({ status: 'in_progress', leaseUntilMs: Date.now() + 60_000, ...more })

    test('events are read in order, from any number on', async () => {
      const saved = running()
      await opened.store.responses.save(saved)
      const events = [0, 1, 2, 3].map((sequence) => ({ sequence, json: `{"n":${sequence}}` }))
      await opened.store.responses.addEvents(saved.id, events.slice(2))
      await opened.store.responses.addEvents(saved.id, events.slice(0, 3))
      expect(await opened.store.responses.events('ann', saved.id, -1, 10)).toEqual(events)
      expect(await opened.store.responses.events('ann', saved.id, 0, 2)).toEqual(events.slice(1, 3))
    })

    test('events of a response that is not there are dropped', async () => {
      await opened.store.responses.addEvents('resp_none', [{ sequence: 0, json: '{}' }])
      expect(await opened.store.responses.events('ann', 'resp_none', -1, 10)).toEqual([])
    })

    test('a lease is extended as long as the response runs', async () => {
      const saved = running()
      await opened.store.responses.save(saved)
      const untilMs = Date.now() + 120_000
      expect(await opened.store.responses.renew([saved.id], untilMs)).toEqual([])
      expect((await opened.store.responses.find('ann', saved.id))?.leaseUntilMs).toBe(untilMs)
      expect(await opened.store.responses.renew([], untilMs)).toEqual([])
    })

    test('its process learns that a response is to be cancelled, has ended, or was deleted', async () => {
      const [kept, cancelled, ended, deleted] = [running(), running(), running(), running()]
      for (const each of [kept, cancelled, ended, deleted]) await opened.store.responses.save(each)
      expect(await opened.store.responses.requestCancel('ann', cancelled.id)).toBe(true)
      await opened.store.responses.save({ ...ended, status: 'failed' })
      await opened.store.responses.delete('ann', deleted.id)
      const ids = [kept.id, cancelled.id, ended.id, deleted.id]
      expect(await opened.store.responses.renew(ids, Date.now() + 60_000)).toEqual(ids.slice(1))
    })

    test('what has ended, or whose process is dead, cannot be asked to cancel', async () => {
      const [ended, dead] = [response({}), running({ leaseUntilMs: Date.now() - 1 })]
      for (const each of [ended, dead]) await opened.store.responses.save(each)
      expect(await opened.store.responses.requestCancel('ann', ended.id)).toBe(false)
      expect(await opened.store.responses.requestCancel('ann', dead.id)).toBe(false)
      expect(await opened.store.responses.requestCancel('ann', 'resp_none')).toBe(false)
    })
  })

  test('everything of a large conversation and a large item comes back', { timeout: 60_000 }, async () => {
    const added = items(5000)
    const { id } = await addConversation(opened.store, added)
    expect(await opened.store.conversations.history('ann', id)).toEqual(added)
    const saved = response({ input: [item({ text: 'ä'.repeat(5_000_000) })], output: items(1000) })
    await opened.store.responses.save(saved)
    expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
  })
}

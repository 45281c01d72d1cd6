import { describe, expect, test } from 'vitest'
import type { StoredResponse } from '../../src/contract/store.ts'
import { item, items, response, uniqueId } from '../support/stored.ts'
import { type OpenStore, page, useStore } from './suite.ts'

/** Chat completions: kept as responses are, apart from them, and found by model and metadata. */
export function describeCompletions(open: OpenStore): void {
  const opened = useStore(open)
  const completion = (more: Partial<StoredResponse> = {}) =>
    response({ id: uniqueId('chatcmpl'), input: items(2), output: items(1), ...more })
  const save = async (more?: Partial<StoredResponse>) => {
    const saved = completion(more)
    await opened.store.completions.save(saved)
    return saved
  }

  describe('completions', () => {
    test('one is found as it was saved, with its messages in pages, until it is deleted', async () => {
      const { completions } = opened.store
      const saved = await save()
      expect(await completions.find('ann', saved.id)).toEqual(saved)
      const first = await completions.listInput('ann', saved.id, { ...page, limit: 1 })
      expect(first).toEqual({ items: saved.input.slice(0, 1), hasMore: true })
      expect(await completions.delete('ann', saved.id)).toBe(true)
      expect(await completions.find('ann', saved.id)).toBeUndefined()
    })

    test('the calls for responses reach no completion, nor those for completions a response', async () => {
      const { completions, responses } = opened.store
      const owner = uniqueId('owner')
      const saved = await save({ owner })
      const [message] = saved.input
      const answer = response({ owner, input: items(1) })
      await responses.save(answer)
      const continuing = response({ owner, previousId: saved.id })
      await responses.save(continuing)
      expect([
        await responses.find(owner, saved.id),
        await responses.history(owner, saved.id),
        await responses.history(owner, continuing.id),
        await responses.findItems(owner, [message?.id ?? '']),
        await responses.delete(owner, saved.id),
        await completions.find(owner, answer.id),
        await completions.delete(owner, answer.id),
        await completions.setMetadata(owner, answer.id, {}),
      ]).toEqual([undefined, undefined, undefined, [], false, undefined, false, false])
      expect((await responses.list(owner, { ...page, limit: 9 })).responses.map(({ id }) => id)).not.toContain(saved.id)
      expect((await completions.list(owner, page)).responses).toEqual([saved])
    })

    test('a list can be of one model, and of entries in the metadata', async () => {
      const { completions } = opened.store
      const owner = uniqueId('owner')
      const quoted = { 'a "key"': "it's, \"b\": 'c'", 'metadata[x]': '' }
      const json = [
        { model: 'one', metadata: { topic: 'sea', tone: 'calm' } },
        { model: 'two', metadata: { topic: 'sea' } },
        { model: 'two', metadata: quoted },
        { model: 'two', metadata: null },
      ]
      for (const [index, each] of json.entries()) await save({ owner, json: each, createdAtMs: Date.now() + index })
      const found = async (filter: object, limit = 9) => {
        const { responses, hasMore } = await completions.list(owner, { limit, order: 'asc' }, filter)
        return [responses.map((one) => json.findIndex((each) => JSON.stringify(each) === JSON.stringify(one.json))), hasMore]
      }
      expect(await found({})).toEqual([[0, 1, 2, 3], false])
      expect(await found({ models: ['none', 'two'] }, 2)).toEqual([[1, 2], true])
      expect(await found({ metadata: { topic: 'sea' } })).toEqual([[0, 1], false])
      expect(await found({ metadata: { topic: 'sea', tone: 'calm' } })).toEqual([[0], false])
      expect(await found({ models: ['two'], metadata: quoted })).toEqual([[2], false])
      expect(await found({ metadata: { topic: 'Sea' } })).toEqual([[], false])
    })

    test('other metadata replaces what there was, also for lists', async () => {
      const { completions } = opened.store
      const owner = uniqueId('owner')
      const saved = await save({ owner, json: { model: 'one', metadata: { topic: 'sea', tone: 'calm' } } })
      expect(await completions.setMetadata(owner, saved.id, { topic: 'hills' })).toBe(true)
      expect((await completions.find(owner, saved.id))?.json).toEqual({ model: 'one', metadata: { topic: 'hills' } })
      const found = async (metadata: { readonly [key: string]: string }) =>
        (await completions.list(owner, page, { metadata })).responses.length
      expect([await found({ topic: 'hills' }), await found({ topic: 'sea' }), await found({ tone: 'calm' })]).toEqual([1, 0, 0])
    })

    test('they count towards the limit, with metadata that grew, and expire', async () => {
      let nowMs = Date.now()
      const small = await open({ maxBytes: 50_000, responseTtlMs: 1000, now: () => nowMs })
      const later = nowMs + 1_000_000_000
      const saved = [1, 2, 3].map((index) =>
        completion({ createdAtMs: later + index, input: [item({ text: 'x'.repeat(20_000) })] }),
      )
      for (const each of saved) await small.completions.save(each)
      const found = () => Promise.all(saved.map(async ({ id }) => (await small.completions.find('ann', id)) !== undefined))
      await small.prune(nowMs)
      expect(await found()).toEqual([false, true, true])
      await small.completions.setMetadata('ann', saved[2]?.id ?? '', { long: 'y'.repeat(20_000) })
      await small.prune(nowMs)
      expect(await found()).toEqual([false, false, true])
      nowMs = later + 2000
      expect(await found()).toEqual([false, false, false])
      await small.prune(nowMs)
      await small.close()
    })
  })
}

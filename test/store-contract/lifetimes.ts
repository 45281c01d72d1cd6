import { describe, expect, test } from 'vitest'
import { item, items, response, uniqueId } from '../support/stored.ts'
import { idsOf, type OpenStore } from './suite.ts'

/** What is kept, and how long. */
export function describeLifetimes(open: OpenStore): void {
  describe('what is kept', () => {
    const dayMs = 86_400_000

    test('what has expired does not exist, before and after it is pruned', async () => {
      let nowMs = Date.now()
      const timed = await open({ now: () => nowMs, responseTtlMs: dayMs, conversationTtlMs: 2 * dayMs })
      const saved = response({ createdAtMs: nowMs, input: items(1) })
      const created = { id: uniqueId('conv'), owner: 'ann', createdAtMs: nowMs, metadata: {} }
      await timed.responses.save(saved)
      await timed.conversations.create(created, items(1))
      nowMs += dayMs
      const found = async () => [
        (await timed.responses.find('ann', saved.id)) !== undefined,
        (await timed.responses.findItems('ann', idsOf(saved.input) ?? [])).length > 0,
        (await timed.conversations.find('ann', created.id)) !== undefined,
      ]
      expect(await found()).toEqual([false, false, true])
      await timed.prune(nowMs)
      expect(await found()).toEqual([false, false, true])
      nowMs += 2 * dayMs
      expect(await found()).toEqual([false, false, false])
      await timed.prune(nowMs)
      nowMs -= 3 * dayMs
      expect(await found()).toEqual([false, false, false])
      await timed.close()
    })

    test('a conversation that is used does not expire', async () => {
      let nowMs = Date.now()
      const timed = await open({ now: () => nowMs, conversationTtlMs: dayMs })
      const created = { id: uniqueId('conv'), owner: 'ann', createdAtMs: nowMs, metadata: {} }
      await timed.conversations.create(created, [])
      nowMs += dayMs - 1
      await timed.conversations.add('ann', created.id, items(1))
      nowMs += dayMs - 1
      expect(await timed.conversations.find('ann', created.id)).toEqual(created)
      await timed.close()
    })

    test('the oldest goes first while the store is larger than its limit', async () => {
      const small = await open({ maxBytes: 100_000 })
      const startMs = Date.now() + 1_000_000
      const saved = Array.from({ length: 8 }, (_, index) =>
        response({ createdAtMs: startMs + index, input: [item({ text: 'x'.repeat(30_000) })] }),
      )
      for (const each of saved) await small.responses.save(each)
      await small.prune(Date.now())
      const found = await Promise.all(saved.map(async ({ id }) => (await small.responses.find('ann', id)) !== undefined))
      expect(found).toEqual([false, false, false, false, false, true, true, true])
      await small.close()
    })
  })
}

import { describe, expect, test } from 'vitest'
import { item, items, response } from '../support/stored.ts'
import { addConversation, idsOf, type OpenStore, page, readPages, useStore } from './suite.ts'

/** Conversations and their items. */
export function describeConversations(open: OpenStore): void {
  const opened = useStore(open)
  describe('conversations', () => {
    test('a conversation is found as it was created, with its items', async () => {
      const added = items(3)
      const created = await addConversation(opened.store, added)
      expect(await opened.store.conversations.find('ann', created.id)).toEqual(created)
      expect(await opened.store.conversations.history('ann', created.id)).toEqual(added)
      expect(await opened.store.conversations.findItem('ann', created.id, added[1]?.id ?? '')).toEqual(added[1])
      expect(await opened.store.conversations.findItem('ann', created.id, 'msg_none')).toBeUndefined()
    })

    test('an id that is in use is refused', async () => {
      const created = await addConversation(opened.store)
      for (const owner of ['ann', 'bob']) {
        const again = opened.store.conversations.create({ ...created, owner }, [])
        await expect(again).rejects.toMatchObject({ code: 'request-conflict' })
      }
    })

    test('metadata are replaced', async () => {
      const created = await addConversation(opened.store)
      expect(await opened.store.conversations.setMetadata('ann', created.id, { mood: 'good' })).toBe(true)
      expect((await opened.store.conversations.find('ann', created.id))?.metadata).toEqual({ mood: 'good' })
      expect(await opened.store.conversations.setMetadata('ann', 'conv_none', {})).toBe(false)
    })

    test('items are added at the end, also several at once', async () => {
      const { id } = await addConversation(opened.store, items(1))
      const groups = Array.from({ length: 20 }, () => items(3))
      await Promise.all(groups.map((group) => opened.store.conversations.add('ann', id, group)))
      const ids = idsOf(await opened.store.conversations.history('ann', id)) ?? []
      expect(ids).toHaveLength(61)
      for (const group of groups) {
        const start = ids.indexOf(group[0]?.id ?? '')
        expect(ids.slice(start, start + 3)).toEqual(idsOf(group))
      }
      expect(await opened.store.conversations.add('ann', 'conv_none', items(1))).toBe(false)
    })

    test('a response that ends adds its input and output, once', async () => {
      const { id } = await addConversation(opened.store, items(1))
      const saved = response({ status: 'in_progress', conversationId: id, input: items(2) })
      await opened.store.responses.save(saved)
      expect(await opened.store.conversations.history('ann', id)).toHaveLength(1)
      const ended = { ...saved, status: 'incomplete' as const, output: items(2) }
      await Promise.all([opened.store.responses.save(ended), opened.store.responses.save(ended)])
      const added = idsOf([...saved.input, ...ended.output])
      expect(idsOf(await opened.store.conversations.history('ann', id))?.slice(1)).toEqual(added)
    })

    test('a response may end after its conversation was deleted', async () => {
      const { id } = await addConversation(opened.store)
      await opened.store.conversations.delete('ann', id)
      const saved = response({ conversationId: id, input: items(1) })
      await opened.store.responses.save(saved)
      expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
      expect(await opened.store.conversations.history('ann', id)).toBeUndefined()
    })

    test.each(['asc', 'desc'] as const)('items are read in pages, %s', async (order) => {
      const added = items(5)
      const { id } = await addConversation(opened.store, added)
      const read = await readPages((after) => opened.store.conversations.list('ann', id, { ...page, order, ...after }))
      expect(read).toEqual(order === 'asc' ? added : added.toReversed())
      const after = { ...page, after: 'msg_none' }
      await expect(opened.store.conversations.list('ann', id, after)).rejects.toMatchObject({ code: 'not-found' })
      expect(await opened.store.conversations.list('ann', 'conv_none', page)).toBeUndefined()
    })

    test('a deleted item is gone, and the order of the others stays', async () => {
      const added = items(3)
      const { id } = await addConversation(opened.store, added)
      expect(await opened.store.conversations.deleteItem('ann', id, added[2]?.id ?? '')).toBe(true)
      expect(await opened.store.conversations.deleteItem('ann', id, added[2]?.id ?? '')).toBe(false)
      const last = item()
      await opened.store.conversations.add('ann', id, [last])
      expect(await opened.store.conversations.history('ann', id)).toEqual([...added.slice(0, 2), last])
    })

    test('a deleted conversation is gone, with its items', async () => {
      const added = items(2)
      const { id } = await addConversation(opened.store, added)
      expect(await opened.store.conversations.delete('ann', id)).toBe(true)
      expect(await opened.store.conversations.delete('ann', id)).toBe(false)
      expect(await opened.store.conversations.find('ann', id)).toBeUndefined()
      expect(await opened.store.responses.findItems('ann', idsOf(added) ?? [])).toEqual([])
    })
  })
}

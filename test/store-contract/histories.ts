import { describe, expect, test } from 'vitest'
import { item, items, response } from '../support/stored.ts'
import { addConversation, type OpenStore, page, readPages, saveChain, useStore } from './suite.ts'

/** What responses continue. */
export function describeHistories(open: OpenStore): void {
  const opened = useStore(open)
  describe('histories', () => {
    test('the history of a response is everything that it continues, oldest first', async () => {
      const chain = await saveChain(opened.store, 200)
      const expected = chain.flatMap(({ input, output }) => [...input, ...output])
      expect(await opened.store.responses.history('ann', chain.at(-1)?.id ?? '')).toEqual(expected)
    })

    test('a response without items has an empty history', async () => {
      const saved = response({})
      await opened.store.responses.save(saved)
      expect(await opened.store.responses.history('ann', saved.id)).toEqual([])
    })

    test('without one of the responses that it continues, there is no history', async () => {
      const chain = await saveChain(opened.store, 3)
      await opened.store.responses.delete('ann', chain[1]?.id ?? '')
      expect(await opened.store.responses.history('ann', chain[2]?.id ?? '')).toBeUndefined()
      expect(await opened.store.responses.history('ann', chain[0]?.id ?? '')).toHaveLength(2)
      expect(await opened.store.responses.history('ann', 'resp_none')).toBeUndefined()
    })

    test.each(['asc', 'desc'] as const)('the input of a response is read in pages, %s', async (order) => {
      const chain = await saveChain(opened.store, 3)
      const given = chain.flatMap(({ input, output }) => [...input, ...output]).slice(0, -1)
      const read = await readPages((after) =>
        opened.store.responses.listInput('ann', chain[2]?.id ?? '', { ...page, order, ...after }),
      )
      expect(read).toEqual(order === 'asc' ? given : given.toReversed())
    })

    test('a page after an unknown item is refused', async () => {
      const saved = response({ input: items(1) })
      await opened.store.responses.save(saved)
      const list = opened.store.responses.listInput('ann', saved.id, { ...page, after: 'msg_none' })
      await expect(list).rejects.toMatchObject({ code: 'not-found' })
      expect(await opened.store.responses.listInput('ann', 'resp_none', page)).toBeUndefined()
    })

    test('items are found by id, wherever they are, in the order of the ids', async () => {
      const [first, second, third] = [item(), item(), item()]
      await opened.store.responses.save(response({ input: [first], output: [second] }))
      await opened.store.responses.save(response({ input: [first] }))
      await addConversation(opened.store, [third])
      const ids = [third.id, 'msg_none', first.id, second.id, first.id]
      expect(await opened.store.responses.findItems('ann', ids)).toEqual([third, first, second])
    })
  })
}

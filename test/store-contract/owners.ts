import { describe, expect, test } from 'vitest'
import type { CompletionStore, ConversationStore, ResponseStore } from '../../src/contract/store.ts'
import { items, response } from '../support/stored.ts'
import { addConversation, type OpenStore, page, useStore } from './suite.ts'

/** That an owner reaches nothing of another. */
export function describeOwners(open: OpenStore): void {
  const opened = useStore(open)
  describe('owners', () => {
    /** Each call of the store, by another owner: for that one, nothing is there. */
    type Calls<Part> = {
      readonly [Name in keyof Part]: (ids: {
        response: string
        completion: string
        conversation: string
        item: string
      }) => unknown
    }
    const nothing = [undefined, false, []]
    const responseCalls: Omit<Calls<ResponseStore>, 'save' | 'addEvents' | 'renew'> = {
      find: (ids) => opened.store.responses.find('bob', ids.response),
      list: async () => (await opened.store.responses.list('bob', page)).responses,
      delete: (ids) => opened.store.responses.delete('bob', ids.response),
      history: (ids) => opened.store.responses.history('bob', ids.response),
      listInput: (ids) => opened.store.responses.listInput('bob', ids.response, page),
      findItems: (ids) => opened.store.responses.findItems('bob', [ids.item]),
      events: (ids) => opened.store.responses.events('bob', ids.response, -1, 10),
      requestCancel: (ids) => opened.store.responses.requestCancel('bob', ids.response),
    }
    const completionCalls: Omit<Calls<CompletionStore>, 'save'> = {
      find: (ids) => opened.store.completions.find('bob', ids.completion),
      list: async () => (await opened.store.completions.list('bob', page)).responses,
      listInput: (ids) => opened.store.completions.listInput('bob', ids.completion, page),
      delete: (ids) => opened.store.completions.delete('bob', ids.completion),
      setMetadata: (ids) => opened.store.completions.setMetadata('bob', ids.completion, {}),
    }
    const conversationCalls: Omit<Calls<ConversationStore>, 'create'> = {
      find: (ids) => opened.store.conversations.find('bob', ids.conversation),
      setMetadata: (ids) => opened.store.conversations.setMetadata('bob', ids.conversation, {}),
      delete: (ids) => opened.store.conversations.delete('bob', ids.conversation),
      history: (ids) => opened.store.conversations.history('bob', ids.conversation),
      add: (ids) => opened.store.conversations.add('bob', ids.conversation, items(1)),
      list: (ids) => opened.store.conversations.list('bob', ids.conversation, page),
      findItem: (ids) => opened.store.conversations.findItem('bob', ids.conversation, ids.item),
      deleteItem: (ids) => opened.store.conversations.deleteItem('bob', ids.conversation, ids.item),
    }

    test.each([
      ...Object.entries(responseCalls).map(([call, run]) => [`responses.${call}`, run] as const),
      ...Object.entries(completionCalls).map(([call, run]) => [`completions.${call}`, run] as const),
      ...Object.entries(conversationCalls).map(([call, run]) => [`conversations.${call}`, run] as const),
    ])('%s reaches nothing of another owner', async (_name, run) => {
      const [first] = items(1)
      const added = first === undefined ? [] : [first]
      const { id } = await addConversation(opened.store, added)
      const saved = response({ status: 'in_progress', leaseUntilMs: Date.now() + 60_000, input: added })
      await opened.store.responses.save(saved)
      await opened.store.responses.addEvents(saved.id, [{ sequence: 0, json: '{}' }])
      const completion = response({ input: items(1), json: { metadata: { topic: 'tests' } } })
      await opened.store.completions.save(completion)
      const ids = { response: saved.id, completion: completion.id, conversation: id, item: first?.id ?? '' }
      expect(nothing).toContainEqual(await run(ids))
      expect(await opened.store.completions.find('ann', completion.id)).toEqual(completion)
      expect(await opened.store.responses.find('ann', saved.id)).toEqual(saved)
      expect(await opened.store.responses.renew([saved.id], saved.leaseUntilMs ?? 0)).toEqual([])
      expect(await opened.store.conversations.history('ann', id)).toEqual(added)
      expect((await opened.store.conversations.find('ann', id))?.metadata).toEqual({ topic: 'tests' })
    })

    test('a response that continues one of another owner has no history', async () => {
      const saved = response({ input: items(1) })
      await opened.store.responses.save(saved)
      const other = response({ owner: 'bob', previousId: saved.id, input: items(1) })
      await opened.store.responses.save(other)
      expect(await opened.store.responses.history('bob', other.id)).toBeUndefined()
      expect((await opened.store.responses.listInput('bob', other.id, page))?.items).toEqual(other.input)
    })

    test('a response cannot add to a conversation of another owner', async () => {
      const { id } = await addConversation(opened.store)
      await opened.store.responses.save(response({ owner: 'bob', conversationId: id, input: items(1) }))
      expect(await opened.store.conversations.history('ann', id)).toEqual([])
    })
  })
}

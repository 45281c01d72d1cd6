import { afterAll, beforeAll } from 'vitest'
import type { BatchStore } from '../../src/contract/server/batches.ts'
import type { Conversation, Store, StoredItem, StoredResponse } from '../../src/contract/store.ts'
import { items, response, uniqueId } from '../support/stored.ts'

/** What a store is opened with, besides its database, which all stores of a suite share. */
export type StoreSettings = {
  readonly now?: () => number
  readonly responseTtlMs?: number
  readonly conversationTtlMs?: number
  readonly maxBytes?: number
}

export type OpenStore = (settings?: StoreSettings) => Promise<Store & { readonly batches: BatchStore }>

/** The store of the tests around this call. */
export function useStore(open: OpenStore): { readonly store: Awaited<ReturnType<OpenStore>> } {
  let store: Awaited<ReturnType<OpenStore>> | undefined
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store?.close())
  return {
    get store() {
      if (store === undefined) throw new Error('the store is opened before the first test')
      return store
    },
  }
}

export const page = { limit: 2, order: 'asc' } as const

export function idsOf(found: readonly StoredItem[] | undefined): string[] {
  return (found ?? []).map(({ id }) => id)
}

/** A conversation of `ann`. */
export async function addConversation(store: Store, added: readonly StoredItem[] = []): Promise<Conversation> {
  const created = { id: uniqueId('conv'), owner: 'ann', createdAtMs: Date.now(), metadata: { topic: 'tests' } }
  await store.conversations.create(created, added)
  return created
}

/** Responses that each continue the one before, with one item of input and one of output. */
export async function saveChain(store: Store, length: number): Promise<StoredResponse[]> {
  const chain: StoredResponse[] = []
  for (let index = 0; index < length; index++) {
    const previous = chain.at(-1)
    const next = response({ input: items(1), output: items(1), ...(previous && { previousId: previous.id }) })
    await store.responses.save(next)
    chain.push(next)
  }
  return chain
}
/** All items of all pages. */
export async function readPages(
  read: (after: { after?: string }) => Promise<{ items: readonly StoredItem[]; hasMore: boolean } | undefined>,
): Promise<StoredItem[]> {
  const all: StoredItem[] = []
  for (;;) {
    const last = all.at(-1)
    const next = await read(last === undefined ? {} : { after: last.id })
    all.push(...(next?.items ?? []))
    if (next?.hasMore !== true) return all
  }
}

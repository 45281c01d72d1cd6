import { AppError } from '../contract/errors.ts'
import type { Conversation, ConversationStore, ItemPage, PageRequest, StoredItem } from '../contract/store.ts'
import { createConversationId } from '../dialect/openai-responses/decode-conversations.ts'
import type { ResponsesService } from './service.ts'

type Metadata = Conversation['metadata']

/** Creates a conversation. All calls here reject with `unsupported-field` without a store, and with `not-found`. */
export async function createConversation(
  service: ResponsesService,
  owner: string,
  { metadata, items }: { readonly metadata: Metadata; readonly items: readonly StoredItem[] },
): Promise<Conversation> {
  const conversation = { id: createConversationId(), owner, createdAtMs: service.wallClock(), metadata }
  await storeOf(service).create(conversation, items)
  return conversation
}

export async function findConversation(service: ResponsesService, owner: string, id: string): Promise<Conversation> {
  return (await storeOf(service).find(owner, id)) ?? notFound(id)
}

/** The conversation with new metadata. */
export async function updateConversation(
  service: ResponsesService,
  { owner, id, metadata }: { readonly owner: string; readonly id: string; readonly metadata: Metadata },
): Promise<Conversation> {
  if (!(await storeOf(service).setMetadata(owner, id, metadata))) notFound(id)
  return findConversation(service, owner, id)
}

export async function deleteConversation(service: ResponsesService, owner: string, id: string): Promise<void> {
  if (!(await storeOf(service).delete(owner, id))) notFound(id)
}

type ConversationKey = { readonly owner: string; readonly id: string }

/** Adds items at the end. */
export async function addItems(
  service: ResponsesService,
  { owner, id }: ConversationKey,
  items: readonly StoredItem[],
): Promise<ItemPage> {
  if (!(await storeOf(service).add(owner, id, items))) notFound(id)
  return { items, hasMore: false }
}

export async function listItems(service: ResponsesService, { owner, id }: ConversationKey, page: PageRequest): Promise<ItemPage> {
  return (await storeOf(service).list(owner, id, page)) ?? notFound(id)
}

export async function findItem(service: ResponsesService, { owner, id }: ConversationKey, itemId: string): Promise<StoredItem> {
  return (await storeOf(service).findItem(owner, id, itemId)) ?? itemNotFound(itemId, id)
}

export async function deleteItem(
  service: ResponsesService,
  { owner, id }: ConversationKey,
  itemId: string,
): Promise<Conversation> {
  if (!(await storeOf(service).deleteItem(owner, id, itemId))) itemNotFound(itemId, id)
  return findConversation(service, owner, id)
}

function storeOf({ store }: ResponsesService): ConversationStore {
  if (store !== undefined) return store.conversations
  const message =
    'conversations need a store, and this server has none (storage.database is off); send the whole conversation as input'
  throw new AppError('unsupported-field', message)
}

function notFound(id: string): never {
  throw new AppError('not-found', `Conversation with id '${id}' not found.`)
}

function itemNotFound(itemId: string, id: string): never {
  throw new AppError('not-found', `Item with id '${itemId}' not found in conversation '${id}'.`)
}

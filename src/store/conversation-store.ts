import { AppError } from '../contract/errors.ts'
import type { Conversation, ConversationStore, ItemPage, PageRequest, StoredItem } from '../contract/store.ts'
import { missingAfter, toPage } from './history.ts'
import { decodeItems, encodeItems, sizeOf } from './item-text.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { Owned } from './owned.ts'

/** Conversations in the tables, limited to the caller's. */
export function createConversationStore(of: (owner: string) => Owned, lifetimes: Lifetimes): ConversationStore {
  return {
    create: (conversation, items) => create(of(conversation.owner), conversation, items, lifetimes),
    find: (owner, id) => find(of(owner), owner, id),
    setMetadata: (owner, id, metadata) => of(owner).setMetadata(id, JSON.stringify(metadata), lifetimes.conversationExpiry()),
    delete: (owner, id) => of(owner).deleteConversation(id),
    history: (owner, id) => of(owner).read((own) => readItems(own, id)),
    add: (owner, id, items) => add(of(owner), id, items, lifetimes),
    list: (owner, id, page) => of(owner).read((own) => list(own, id, page)),
    findItem: (owner, id, itemId) => findItem(of(owner), id, itemId),
    deleteItem: (owner, id, itemId) => of(owner).change((own) => own.deleteConversationItem(id, itemId)),
  }
}

async function create(
  owned: Owned,
  { id, createdAtMs, metadata }: Conversation,
  items: readonly StoredItem[],
  lifetimes: Lifetimes,
): Promise<void> {
  const texts = await encodeItems(items)
  const json = JSON.stringify(metadata)
  await owned.change(async (own) => {
    const rows = await own.addConversation({
      id,
      created_at: createdAtMs,
      changed_at: own.nowMs,
      expires_at: lifetimes.conversationExpiry(),
      metadata: json,
      next_position: texts.length,
      size_bytes: Buffer.byteLength(json) + sizeOf(texts),
    })
    if (rows === undefined) throw new AppError('request-conflict', `the conversation id '${id}' is in use`)
    await rows.addItems(texts)
  })
}

async function find(own: Owned, owner: string, id: string): Promise<Conversation | undefined> {
  const row = await own.conversations().select(['created_at', 'metadata']).where('id', '=', id).executeTakeFirst()
  return row && { id, owner, createdAtMs: row.created_at, metadata: JSON.parse(row.metadata) }
}

async function readItems(own: Owned, id: string): Promise<StoredItem[] | undefined> {
  if (!(await exists(own, id))) return undefined
  return decodeItems(await itemsOf(own, id).orderBy('position').execute())
}

async function add(owned: Owned, id: string, items: readonly StoredItem[], lifetimes: Lifetimes): Promise<boolean> {
  const texts = await encodeItems(items)
  return owned.change(async (own) => {
    const size = { count: texts.length, sizeBytes: sizeOf(texts), expiresAtMs: lifetimes.conversationExpiry() }
    const rows = await own.extendConversation(id, size)
    await rows?.addItems(texts)
    return rows !== undefined
  })
}

async function list(own: Owned, id: string, { after, limit, order }: PageRequest): Promise<ItemPage | undefined> {
  if (!(await exists(own, id))) return undefined
  let query = itemsOf(own, id)
  if (after !== undefined) {
    const last = await itemsOf(own, id).select('position').where('item_id', '=', after).orderBy('position').executeTakeFirst()
    if (last === undefined) throw missingAfter(after)
    query = query.where('position', order === 'asc' ? '>' : '<', last.position)
  }
  return toPage(
    await query
      .orderBy('position', order)
      .limit(limit + 1)
      .execute(),
    limit,
  )
}

async function findItem(own: Owned, id: string, itemId: string): Promise<StoredItem | undefined> {
  const [item] = await decodeItems(await itemsOf(own, id).where('item_id', '=', itemId).limit(1).execute())
  return item
}

async function exists(own: Owned, id: string): Promise<boolean> {
  return (await own.conversations().select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

function itemsOf(own: Owned, id: string) {
  return own.conversationItems().select(['item_id', 'json']).where('conversations.id', '=', id)
}

import { randomHex } from '../../base/random-hex.ts'
import type { Conversation, Metadata, StoredItem } from '../../contract/store.ts'
import { metadata } from '../openai/lists.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { itemList, storeItems } from './items.ts'
import type { DeletedConversation, WireConversation } from './replies.ts'

export function createConversationId(): string {
  return `conv_${randomHex()}`
}

export const newConversationSchema = looseObject({ metadata, items: itemList.nullish() })

/** The first items of a new conversation. Throws `invalid-request`. */
export function decodeNewConversation(body: unknown): { readonly metadata: Metadata; readonly items: readonly StoredItem[] } {
  const wire = validate(newConversationSchema, body ?? {})
  return { metadata: wire.metadata ?? {}, items: storeItems(wire.items ?? []) }
}

export function encodeConversation({ id, createdAtMs, metadata: pairs }: Omit<Conversation, 'owner'>): WireConversation {
  return { id, object: 'conversation', created_at: Math.floor(createdAtMs / 1000), metadata: pairs }
}

export function encodeDeletedConversation(id: string): DeletedConversation {
  return { id, object: 'conversation.deleted', deleted: true }
}

import { randomHex } from '../../base/random-hex.ts'
import type { Conversation, StoredItem } from '../../contract/store.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { itemList, storeItems } from './items.ts'
import { metadata } from './schema.ts'

type Metadata = Conversation['metadata']

/** A new conversation's id. */
export function createConversationId(): string {
  return `conv_${randomHex()}`
}

const newConversation = looseObject({ metadata, items: itemList.nullish() })

/** What a new conversation begins with. Throws `invalid-request`. */
export function decodeNewConversation(body: unknown): { readonly metadata: Metadata; readonly items: readonly StoredItem[] } {
  const wire = validate(newConversation, body ?? {})
  return { metadata: wire.metadata ?? {}, items: storeItems(wire.items ?? []) }
}

const metadataBody = looseObject({ metadata })

/** The metadata that replaces a conversation's; null is none. Throws `invalid-request`. */
export function decodeMetadata(body: unknown): Metadata {
  return validate(metadataBody, body).metadata ?? {}
}

/** OpenAI's conversation object. */
export function encodeConversation({ id, createdAtMs, metadata: pairs }: Omit<Conversation, 'owner'>) {
  return { id, object: 'conversation' as const, created_at: Math.floor(createdAtMs / 1000), metadata: pairs }
}

/** What is left of a conversation. */
export function encodeDeletedConversation(id: string) {
  return { id, object: 'conversation.deleted' as const, deleted: true }
}

import { unlessLong } from '../base/turn.ts'
import { AppError } from '../contract/errors.ts'
import type { Store, StoredItem } from '../contract/store.ts'
import type { References } from '../dialect/openai-responses/decode-references.ts'
import { isOver, settled } from './settled.ts'

/** The data that a request refers to. */
export type FoundReferences = {
  /** Everything before its input, oldest first. */
  readonly history: readonly StoredItem[]
  /** The items that its input names by id, if known. */
  readonly items: readonly StoredItem[]
  readonly previousId?: string
  readonly conversationId?: string
}

type Finder = {
  readonly owner: string
  readonly store: Store | undefined
  /** The history of a response known only to the connection. */
  readonly recall?: (id: string) => readonly StoredItem[] | undefined
  readonly nowMs: number
}

/** Throws `unsupported-field` if a request needs a store and there is none; `background` and an explicit `store` do. */
export function refuseWithoutStore(body: unknown, refs: References): void {
  if (refs.background) throw needsStore('background')
  if (typeof body === 'object' && body !== null && 'store' in body && body.store === true) throw needsStore('store')
}

/** Rejects with `previous-response-not-found` or `not-found`, and as `refuseWithoutStore`. */
export async function findReferences(refs: References, finder: Finder): Promise<FoundReferences> {
  const { previousResponseId: previousId, conversationId, itemIds } = refs
  const history =
    previousId !== undefined
      ? await findHistory(previousId, finder)
      : conversationId !== undefined
        ? await findConversation(conversationId, finder)
        : []
  const items = itemIds.length === 0 ? [] : await findItems(itemIds, finder)
  // Decoding, which follows, takes long for an input with thousands of items.
  await unlessLong()
  return {
    history,
    items,
    ...(previousId !== undefined && { previousId }),
    ...(conversationId !== undefined && { conversationId }),
  }
}

async function findHistory(id: string, { owner, store, recall, nowMs }: Finder): Promise<readonly StoredItem[]> {
  const remembered = recall?.(id)
  if (remembered !== undefined) return remembered
  // On a socket this happens after a reconnect, and clients recover from it.
  if (store === undefined && recall === undefined) throw needsStore('previous_response_id')
  const previous = await store?.responses.find(owner, id)
  if (previous !== undefined && !isOver(settled(previous, nowMs).status)) {
    const message = `the previous response '${id}' is still in progress; wait until it has ended`
    throw new AppError('invalid-request', message, { param: 'previous_response_id' })
  }
  const history = previous === undefined ? undefined : await store?.responses.history(owner, id)
  if (history !== undefined) return history
  // OpenAI's words, which clients match.
  throw new AppError('previous-response-not-found', `Previous response with id '${id}' not found.`, {
    param: 'previous_response_id',
  })
}

async function findConversation(id: string, { owner, store }: Finder): Promise<readonly StoredItem[]> {
  if (store === undefined) throw needsStore('conversation')
  const history = await store.conversations.history(owner, id)
  if (history !== undefined) return history
  throw new AppError('not-found', `Conversation with id '${id}' not found.`, { param: 'conversation' })
}

async function findItems(ids: readonly string[], { owner, store }: Finder): Promise<readonly StoredItem[]> {
  if (store === undefined) throw needsStore('input')
  return store.responses.findItems(owner, ids)
}

function needsStore(param: string): AppError {
  const advice = param === 'input' ? 'send the items themselves instead of references' : `leave ${param} out`
  const message = `${param} needs stored responses, and this server stores nothing (storage.database is off); ${advice}`
  return new AppError('unsupported-field', message, { param })
}

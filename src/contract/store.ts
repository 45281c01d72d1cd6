import type { FilePlace } from './file-store.ts'
import type { UsageCounter } from './quota.ts'
import type { JsonObject } from './request.ts'

/**
 * Data that outlives a request: responses, their items, and conversations, in the form of OpenAI's Responses protocol, and chat completions
 * in that of its chat protocol. Every call names the owner, a principal's id; what others own, and what has expired, does not exist for it.
 * Times are milliseconds of the epoch. Calls reject with `store-unavailable` when the database fails.
 */
export interface Store {
  readonly responses: ResponseStore
  readonly conversations: ConversationStore
  readonly completions: CompletionStore
  /** The use of keys in all processes, for the length of their periods. */
  readonly usage: UsageCounter
  readonly usageDays: UsageDays
  /** Where uploads are kept for all processes; absent if processes cannot reach each other. */
  readonly files?: FilePlace
  /** Deletes what has expired, and the oldest entries while the store is larger than its limit. */
  prune(nowMs: number): Promise<void>
  close(): Promise<void>
}

export type Use = {
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
}

/** The use of a model by a caller on a day in UTC, such as `2030-12-31`. */
export type UsageEntry = {
  readonly day: string
  /** The id of the principal. */
  readonly caller: string
  readonly model: string
  readonly all: Use
  /** The part of it that batches used. */
  readonly batch: Use
}

export interface UsageDays {
  add(entries: readonly UsageEntry[]): Promise<void>
  /** The days from `from` to `to`, both included, the latest first. */
  read(wanted: { readonly from: string; readonly to?: string; readonly caller?: string }): Promise<readonly UsageEntry[]>
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** An item on the wire; `id` is also a member of `json`. */
export type StoredItem = { readonly id: string; readonly json: JsonObject }

export type StoredResponse = {
  readonly id: string
  readonly owner: string
  readonly createdAtMs: number
  readonly status: ResponseStatus
  /** The response on the wire, without its `output`. */
  readonly json: JsonObject
  /** The items that this call added to its history. */
  readonly input: readonly StoredItem[]
  readonly output: readonly StoredItem[]
  /** The response that it continues. */
  readonly previousId?: string
  readonly conversationId?: string
  /** While it runs on its own: when its process is presumed dead. */
  readonly leaseUntilMs?: number
}

/** An event of a stream on the wire, with its `sequence_number`. */
export type StoredEvent = { readonly sequence: number; readonly json: string }

export type ItemPage = { readonly items: readonly StoredItem[]; readonly hasMore: boolean }

/** Selects from a list: entries whose `json` has one of these as `model`, and all of these pairs in `metadata`. */
export type ListFilter = { readonly models?: readonly string[]; readonly metadata?: Metadata }

export type ResponsePage = { readonly responses: readonly StoredResponse[]; readonly hasMore: boolean }

/** A page of items: those after the item `after` in this order. Calls reject with `not-found` if that item does not exist. */
export type PageRequest = { readonly after?: string; readonly limit: number; readonly order: 'asc' | 'desc' }

export interface ResponseStore {
  /**
   * Saves a response, or its new state, in one step. The first call decides its input, its times and what it continues; the first call for
   * an ended response decides the rest, and adds input and output to its conversation. Later calls change nothing. Rejects with
   * `request-conflict` for an id that another owner has.
   */
  save(response: StoredResponse): Promise<void>
  find(owner: string, id: string): Promise<StoredResponse | undefined>
  /** A page, by time of creation. Rejects with `not-found` if the response `after` does not exist. */
  list(owner: string, page: PageRequest, filter?: ListFilter): Promise<ResponsePage>
  /** False: it did not exist. Later responses that continue it have lost their history. */
  delete(owner: string, id: string): Promise<boolean>
  /** Input and output of the response and of all that it continues, oldest first. Undefined if one of them is missing. */
  history(owner: string, id: string): Promise<readonly StoredItem[] | undefined>
  /** A page of the history that the response was given: its own input, and everything that it continues. Undefined: no such response. */
  listInput(owner: string, id: string, page: PageRequest): Promise<ItemPage | undefined>
  /** The items with these ids, in any response or conversation; missing ones are left out. */
  findItems(owner: string, ids: readonly string[]): Promise<readonly StoredItem[]>
  /** Keeps events of a response, so that any process can resume its stream. */
  addEvents(id: string, events: readonly StoredEvent[]): Promise<void>
  /** Up to `limit` events with a higher number, in order. */
  events(owner: string, id: string, after: number, limit: number): Promise<readonly StoredEvent[]>
  /**
   * Extends the leases of responses that run here. Resolves with those to cancel: because that was requested, or because they have ended or
   * were deleted elsewhere.
   */
  renew(ids: readonly string[], untilMs: number): Promise<readonly string[]>
  /** Asks the process that runs a response to cancel it. False: no such response, or no valid lease. */
  requestCancel(owner: string, id: string): Promise<boolean>
}

/**
 * Chat completions that callers asked to store, in the form of ended responses: `json` is the completion without its choices, the input its
 * messages, the output its choices. Calls for responses do not reach them.
 */
export interface CompletionStore extends Pick<ResponseStore, 'save' | 'find' | 'list' | 'listInput' | 'delete'> {
  /** Replaces `metadata` in `json`. False: no such completion. */
  setMetadata(owner: string, id: string, metadata: Metadata): Promise<boolean>
}

export type Metadata = { readonly [key: string]: string }

export type Conversation = {
  readonly id: string
  readonly owner: string
  readonly createdAtMs: number
  readonly metadata: Metadata
}

export interface ConversationStore {
  /** Rejects with `request-conflict` for an id that is in use. */
  create(conversation: Conversation, items: readonly StoredItem[]): Promise<void>
  find(owner: string, id: string): Promise<Conversation | undefined>
  /** False: no such conversation. */
  setMetadata(owner: string, id: string, metadata: Metadata): Promise<boolean>
  /** Also deletes its items. False: no such conversation. */
  delete(owner: string, id: string): Promise<boolean>
  /** All items, oldest first. Undefined: no such conversation. */
  history(owner: string, id: string): Promise<readonly StoredItem[] | undefined>
  /** Adds items at the end. False: no such conversation. */
  add(owner: string, id: string, items: readonly StoredItem[]): Promise<boolean>
  list(owner: string, id: string, page: PageRequest): Promise<ItemPage | undefined>
  findItem(owner: string, id: string, itemId: string): Promise<StoredItem | undefined>
  /** False: no such item. */
  deleteItem(owner: string, id: string, itemId: string): Promise<boolean>
}

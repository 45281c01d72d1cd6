import type { CancelTarget } from './context.ts'
import type { FilePlace } from './file-store.ts'
import type { UsageCounter } from './quota.ts'
import type { JsonObject } from './request.ts'

/**
 * What outlives a request: responses, their items, and conversations, in the form of OpenAI's Responses protocol, and chat completions in
 * that of its chat protocol. Every call names the owner, a principal's id; what others own, and what has expired, does not exist for it.
 * Times are milliseconds of the epoch. Calls reject with `store-unavailable` when the database fails.
 */
export interface Store {
  readonly responses: ResponseStore
  readonly conversations: ConversationStore
  readonly completions: CompletionStore
  /** Absent where processes cannot reach each other: a cancel then ends what runs in its own process. */
  readonly cancels?: CancelBus
  /** What keys use in all processes, for as long as their periods last. */
  readonly usage: UsageCounter
  readonly usageDays: UsageDays
  /** What operators change in all processes; absent likewise. */
  readonly documents?: SharedDocuments
  /** Where uploads are kept for all processes; absent likewise. */
  readonly files?: FilePlace
  /** Locks a name in all processes; absent likewise. Undefined: another one has it. Rejects with `store-unavailable`. */
  lock?(name: string): Promise<Lock | undefined>
  /** Deletes what has expired, and the oldest of everything while the store is larger than its limit. */
  prune(nowMs: number): Promise<void>
  close(): Promise<void>
}

/** What a caller used of a model on a day of UTC, such as `2030-12-31`. */
export type UsageEntry = {
  readonly day: string
  /** The id of the principal. */
  readonly caller: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
}

/** What was used, by day. */
export interface UsageDays {
  /** Adds to what is there. */
  add(entries: readonly UsageEntry[]): Promise<void>
  /** The days from `from` to `to`, both included, the latest first. */
  read(wanted: { readonly from: string; readonly to?: string; readonly caller?: string }): Promise<readonly UsageEntry[]>
}

/** Call it to give the lock up. */
export type Lock = () => void

/** A cancel that a caller asked one process for: `by` is the caller's id. */
export type SharedCancel = CancelTarget & { readonly by: string; readonly isAdmin: boolean }

/** Cancels, between the processes that share a database. A cancel is lost while the database is away. */
export interface CancelBus {
  /** Sends the cancel to all other processes. Resolves with how many requests they reported as cancelled. Rejects with `store-unavailable`. */
  publish(cancel: SharedCancel): Promise<number>
  /** Calls the listener with what others publish, until the store is closed. Resolves when it listens, or will try again. */
  listen(listener: (cancel: SharedCancel) => void): Promise<void>
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
  /** What this call added to its history. */
  readonly input: readonly StoredItem[]
  readonly output: readonly StoredItem[]
  /** The response that it continues. */
  readonly previousId?: string
  readonly conversationId?: string
  /** While it runs: its process is taken for dead at this time. Absent for those that do not run on their own. */
  readonly leaseUntilMs?: number
}

/** An event of a stream on the wire, with its `sequence_number`. */
export type StoredEvent = { readonly sequence: number; readonly json: string }

export type ItemPage = { readonly items: readonly StoredItem[]; readonly hasMore: boolean }

/** Which of a list are wanted: those whose `json` has one of these as `model`, and all of these entries in `metadata`. */
export type ListFilter = { readonly models?: readonly string[]; readonly metadata?: Metadata }

export type ResponsePage = { readonly responses: readonly StoredResponse[]; readonly hasMore: boolean }

/** A page of items: those after the item `after` in this order. Calls reject with `not-found` where there is no such item. */
export type PageRequest = { readonly after?: string; readonly limit: number; readonly order: 'asc' | 'desc' }

export interface ResponseStore {
  /**
   * Saves a response, or what has become of it, in one step. The first call decides its input, its times and what it continues; the first
   * call for a response that has ended decides the rest, and adds input and output to its conversation. Later calls change nothing.
   * Rejects with `request-conflict` for an id that another owner has.
   */
  save(response: StoredResponse): Promise<void>
  find(owner: string, id: string): Promise<StoredResponse | undefined>
  /** A page, by the time at which they were created. Rejects with `not-found` where there is no response `after`. */
  list(owner: string, page: PageRequest, filter?: ListFilter): Promise<ResponsePage>
  /** False: there was none. Later responses that continue it have lost their history. */
  delete(owner: string, id: string): Promise<boolean>
  /** Input and output of the response and of all that it continues, oldest first. Undefined when one of them is not there. */
  history(owner: string, id: string): Promise<readonly StoredItem[] | undefined>
  /** A page of the history that the response was given: its own input, and everything that it continues. Undefined: no response. */
  listInput(owner: string, id: string, page: PageRequest): Promise<ItemPage | undefined>
  /** The items with these ids, wherever they are; those that are not there are missing. */
  findItems(owner: string, ids: readonly string[]): Promise<readonly StoredItem[]>
  /** Keeps events of a response, so that any process can resume its stream. */
  addEvents(id: string, events: readonly StoredEvent[]): Promise<void>
  /** Up to `limit` events with a higher number, in order. */
  events(owner: string, id: string, after: number, limit: number): Promise<readonly StoredEvent[]>
  /**
   * Extends the leases of responses that run here. Resolves with those to cancel: because it was requested, or because they have ended
   * or were deleted elsewhere.
   */
  renew(ids: readonly string[], untilMs: number): Promise<readonly string[]>
  /** Asks the process that runs a response to cancel it. False: no such response, or it has no valid lease. */
  requestCancel(owner: string, id: string): Promise<boolean>
}

/**
 * Chat completions that their callers asked to keep, as responses that have ended: `json` is the completion without its choices, the input
 * its messages, the output its choices. The calls for responses do not reach them.
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
  /** With its items. False: no such conversation. */
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

/**
 * Named JSON documents that the processes of one database have in common. Calls reject with `store-unavailable` when the database fails;
 * what was last read then stays known.
 */
export interface SharedDocuments {
  /** Calls the listener with the document and after each change of it, wherever it was made; not while there is none. Resolves after the first read. */
  watch(name: string, listener: (json: unknown) => void): Promise<void>
  /** Reads a watched document again if it has changed: a notification may be on its way. */
  refresh(name: string): Promise<void>
  /** Replaces the document, undefined at first, by what `edit` makes of it: one change at a time, in all processes. */
  change(name: string, edit: (json: unknown) => unknown): Promise<void>
}

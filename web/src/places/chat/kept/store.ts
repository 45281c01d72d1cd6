import { signal } from '@preact/signals'
import { chatTexts } from '../../../texts/chat.ts'
import type { Conversation, Message } from '../conversation.ts'
import { readHead } from '../read-conversation.ts'
import { type Change, changedHead, supersedes } from './change.ts'

/** A message as stored; its key is the id of its conversation and its own. */
type Stored = Message & { readonly conversation: string }

/** Says that a conversation has changed, and which of its messages, or that it was deleted. */
export type News = { readonly id: string; readonly messages: readonly string[] } | { readonly id: string; readonly isGone: true }

/** Why the store waits; undefined: it doesn't. */
export const storeWaits = signal<string | undefined>(undefined)
/** A newer page has taken the store over. */
export const isOutdated = signal(false)

/** The ids of deleted conversations stay (`gone`), so that what another tab writes late is not kept. */
const stores = ['heads', 'messages', 'gone']

const database = new Promise<IDBDatabase>((resolve, reject) => {
  const opening = indexedDB.open('dragoman', 2)
  opening.onupgradeneeded = ({ oldVersion }) => {
    const { result, transaction } = opening
    result.createObjectStore('heads', { keyPath: 'id' })
    result.createObjectStore('messages', { keyPath: ['conversation', 'id'] })
    result.createObjectStore('gone', { keyPath: 'id' })
    if (oldVersion === 1 && transaction !== null) splitRecords(result, transaction)
  }
  // It opens by itself when the older tabs are closed.
  opening.onblocked = () => {
    storeWaits.value = chatTexts.olderTab
  }
  opening.onsuccess = () => {
    const { result } = opening
    storeWaits.value = undefined
    result.onversionchange = () => {
      result.close()
      isOutdated.value = true
    }
    resolve(result)
  }
  opening.onerror = () => reject(opening.error)
})
// The code that uses it reports the failure.
database.catch(() => undefined)

/** Version 1 had one record for each conversation, with all its messages. */
function splitRecords(store: IDBDatabase, upgrade: IDBTransaction): void {
  upgrade.objectStore('conversations').openCursor().onsuccess = ({ target }) => {
    const cursor = (target as IDBRequest<IDBCursorWithValue | null>).result
    if (cursor === null) return store.deleteObjectStore('conversations')
    const { messages, ...head } = cursor.value as { readonly id: string; readonly messages?: unknown }
    // One without messages was never shown.
    if (typeof messages === 'object' && messages !== null && typeof head.id === 'string') {
      upgrade.objectStore('heads').put(head)
      for (const [id, message] of Object.entries(messages)) {
        if (typeof message === 'object') upgrade.objectStore('messages').put({ ...message, id, conversation: head.id })
      }
    }
    cursor.continue()
  }
}

const channel = new BroadcastChannel('dragoman')

/** Hears what other tabs have stored. */
export function onNews(hear: (news: News) => void): void {
  channel.onmessage = ({ data }: MessageEvent<News>) => hear(data)
}

/** The heads of all conversations as stored, by any version of the page. */
export async function readHeads(): Promise<readonly unknown[]> {
  return result((await database).transaction(stores).objectStore('heads').getAll())
}

/** The messages of some conversations as stored, for each of the ids. */
export async function readMessagesOf(ids: readonly string[]): Promise<readonly (readonly Stored[])[]> {
  const messages = (await database).transaction(stores).objectStore('messages')
  return Promise.all(ids.map((id) => result<Stored[]>(messages.getAll(rangeOf(id)))))
}

const rangeOf = (id: string) => IDBKeyRange.bound([id], [id, []])

/** The head and some messages of a conversation as stored; undefined if it is not there. */
export async function readSome(id: string, ids: readonly string[]) {
  const reading = (await database).transaction(stores)
  const [head, ...messages] = await Promise.all([
    result<unknown>(reading.objectStore('heads').get(id)),
    ...ids.map((each) => result<unknown>(reading.objectStore('messages').get([id, each]))),
  ])
  return head === undefined ? undefined : { head, messages }
}

/** The ids of all conversations, also of deleted ones. */
export async function readIds(): Promise<readonly unknown[]> {
  const reading = (await database).transaction(stores)
  const keys = (['heads', 'gone'] as const).map((store) => result<unknown[]>(reading.objectStore(store).getAllKeys()))
  return (await Promise.all(keys)).flat()
}

/** Stores a change of a conversation; `before` is what it changes. False: it was deleted, and nothing is stored. */
export async function commit(before: Conversation, change: Change): Promise<boolean> {
  const { id } = before
  const isRunning = change.messages.length > 0 && change.messages.every(({ state }) => state === 'running')
  const isKept = await write(isRunning ? 'relaxed' : 'strict', async (writing) => {
    const [heads, messages, gone] = stores.map((name) => writing.objectStore(name)) as [
      IDBObjectStore,
      IDBObjectStore,
      IDBObjectStore,
    ]
    if ((await result(gone.get(id))) !== undefined) return false
    const { messages: _, ...newHead } = before
    const head = readHead(await result(heads.get(id)))
    const keys = head === undefined ? [] : change.messages.map((message) => [id, message.id])
    const present = await Promise.all(keys.map((key) => result<Stored | undefined>(messages.get(key))))
    heads.put(changedHead(head ?? newHead, change))
    for (const [index, message] of change.messages.entries()) {
      if (supersedes(message, present[index])) messages.put({ ...message, conversation: id })
    }
    return true
  })
  if (isKept) post({ id, messages: change.messages.map((message) => message.id) })
  return isKept
}

/** Deletes a conversation for good: what another tab writes to it later is not stored. */
export async function remove(id: string): Promise<void> {
  await write('strict', async (writing) => {
    writing.objectStore('gone').put({ id, atMs: Date.now() })
    writing.objectStore('heads').delete(id)
    writing.objectStore('messages').delete(rangeOf(id))
  })
  post({ id, isGone: true })
}

const post = (news: News) => channel.postMessage(news)

async function write<T>(durability: IDBTransactionDurability, act: (writing: IDBTransaction) => Promise<T>): Promise<T> {
  const writing = (await database).transaction(stores, 'readwrite', { durability })
  const ended = new Promise<void>((resolve, reject) => {
    writing.oncomplete = () => resolve()
    writing.onabort = () => reject(writing.error)
  })
  // A request that fails also ends `act`.
  ended.catch(() => undefined)
  const made = await act(writing)
  await ended
  return made
}

function result<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T)
    request.onerror = () => reject(request.error)
  })
}

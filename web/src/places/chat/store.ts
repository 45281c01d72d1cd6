import type { Conversation } from './conversation.ts'

/** Conversations stay in the browser: one record each, by id. */
const database = new Promise<IDBDatabase>((resolve, reject) => {
  const opening = indexedDB.open('dragoman', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('conversations', { keyPath: 'id' })
  opening.onsuccess = () => resolve(opening.result)
  opening.onerror = () => reject(opening.error)
})
// Whoever uses it hears of the failure.
database.catch(() => undefined)

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const request = act((await database).transaction('conversations', mode).objectStore('conversations'))
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

export async function readAll(): Promise<Conversation[]> {
  return (await inStore('readonly', (store) => store.getAll())) as Conversation[]
}

export async function save(conversation: Conversation): Promise<void> {
  await inStore('readwrite', (store) => store.put(conversation))
}

export async function remove(id: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(id))
}

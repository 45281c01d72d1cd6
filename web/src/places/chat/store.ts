import type { Conversation } from './conversation.ts'

/** Conversations stay in the browser: one record each, by id. */
const database = new Promise<IDBDatabase>((resolve, reject) => {
  const opening = indexedDB.open('dragoman', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('conversations', { keyPath: 'id' })
  opening.onsuccess = () => resolve(opening.result)
  opening.onerror = () => reject(opening.error)
})
// The code that uses it reports the failure.
database.catch(() => undefined)

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const request = act((await database).transaction('conversations', mode).objectStore('conversations'))
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** All conversations as stored, by any version of the page. */
export async function readAll(): Promise<readonly unknown[]> {
  return await inStore('readonly', (store) => store.getAll())
}

export async function readIds(): Promise<readonly unknown[]> {
  return await inStore('readonly', (store) => store.getAllKeys())
}

export async function save(conversation: Conversation): Promise<void> {
  await inStore('readwrite', (store) => store.put(conversation))
}

export async function remove(id: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(id))
}

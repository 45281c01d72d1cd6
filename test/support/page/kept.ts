import type { Page } from 'playwright-core'

/** Puts conversations into the browser's store as the page did when each was one record. `keepsOpen`: as a tab that still shows that page. */
export function storeAsBefore(page: Page, conversations: readonly unknown[], keepsOpen = false): Promise<unknown> {
  return page.evaluate(`new Promise((resolve, reject) => {
    indexedDB.deleteDatabase('dragoman').onsuccess = () => {
      const opening = indexedDB.open('dragoman', 1)
      opening.onupgradeneeded = () => opening.result.createObjectStore('conversations', { keyPath: 'id' })
      opening.onsuccess = () => {
        const writing = opening.result.transaction('conversations', 'readwrite')
        for (const each of ${JSON.stringify(conversations)}) writing.objectStore('conversations').put(each)
        writing.oncomplete = () => {
          if (${keepsOpen}) window.kept = opening.result
          else opening.result.close()
          resolve()
        }
        writing.onerror = reject
      }
    }
  })`)
}

/** Puts conversations of four messages each into the browser's store, as the page that is open does: `chat 0` is the oldest one. */
export function storeMany(page: Page, count: number): Promise<unknown> {
  return page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('dragoman')
    opening.onsuccess = () => {
      const writing = opening.result.transaction(['heads', 'messages'], 'readwrite')
      const [heads, messages] = ['heads', 'messages'].map((name) => writing.objectStore(name))
      const settings = { system: '', sampling: {}, tools: '', schema: '' }
      for (let nth = 0; nth < ${count}; nth += 1) {
        const head = { id: 'c' + nth, title: 'chat ' + nth, createdAtMs: nth, updatedAtMs: nth, settings, chosen: {} }
        heads.put(nth % 4 === 0 ? { ...head, folder: 'Work' } : head)
        for (let at = 0; at < 4; at += 1) {
          const parent = at === 0 ? {} : { parent: 'm' + (at - 1) }
          messages.put({ conversation: head.id, id: 'm' + at, role: 'user', text: 'said ' + nth, atMs: at, ...parent })
        }
      }
      writing.oncomplete = () => {
        opening.result.close()
        resolve()
      }
      writing.onerror = reject
    }
  })`)
}

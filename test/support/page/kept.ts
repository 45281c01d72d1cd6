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

import { type Signal, signal } from '@preact/signals'
import { keptHere } from '../../../api/browser-kept.ts'

export type SharedList<T> = {
  readonly list: Signal<readonly T[]>
  /** Replaces the list by what `next` makes of it, read again: another tab may have changed it. */
  change(next: (before: readonly T[]) => readonly T[]): void
}

/** A list in the browser's storage, which its tabs share. `readItem`: undefined for what is not an item. */
export function sharedList<T>(key: string, readItem: (value: unknown) => T | undefined): SharedList<T> {
  const read = (): readonly T[] => {
    try {
      const found: unknown = JSON.parse(keptHere.get(key) ?? '[]')
      return Array.isArray(found) ? found.map(readItem).filter((item) => item !== undefined) : []
    } catch {
      // Somebody else's value: the next change replaces it.
      return []
    }
  }
  const list = signal(read())
  addEventListener('storage', (event) => {
    if (event.key === key) list.value = read()
  })
  return {
    list,
    change(next) {
      const changed = next(read())
      keptHere.set(key, JSON.stringify(changed))
      list.value = changed
    },
  }
}

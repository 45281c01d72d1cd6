import { signal } from '@preact/signals'
import { keptInTab } from './browser-kept.ts'

const keyName = 'dragoman.key'

/** The server's answer about the caller; undefined until it arrives. */
export type Caller = { readonly id: string; readonly scopes: readonly string[]; readonly models?: readonly string[] }

/** The key of this session, which ends when the tab is closed. */
export const apiKey = signal<string | undefined>(keptInTab.get(keyName))
export const caller = signal<Caller | undefined>(undefined)
/** The server requires a key; with its message about the key that was sent. */
export const asksForKey = signal<string | undefined>(undefined)

export function useKey(key: string | undefined): void {
  keptInTab.set(keyName, key)
  apiKey.value = key
}

/** Whether the caller may use routes of this scope; `admin` may use all. */
export function allows(scope: string): boolean {
  const scopes = caller.value?.scopes
  return scopes === undefined || scopes.includes('admin') || scopes.includes(scope)
}

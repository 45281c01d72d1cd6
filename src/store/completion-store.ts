import type { CompletionStore, Metadata } from '../contract/store.ts'
import { decodeObject } from './item-text.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { Owned } from './owned.ts'
import { createResponseStore } from './response-store.ts'

/** Chat completions in the tables of responses, limited to the caller's. */
export function createCompletionStore(of: (owner: string) => Owned, lifetimes: Lifetimes): CompletionStore {
  const { save, find, list, listInput, delete: remove } = createResponseStore(of, lifetimes)
  return {
    save,
    find,
    list,
    listInput,
    delete: remove,
    setMetadata: (owner, id, metadata) => of(owner).change((own) => setMetadata(own, id, metadata)),
  }
}

async function setMetadata(own: Owned, id: string, metadata: Metadata): Promise<boolean> {
  const row = await own.responses().select('json').where('responses.id', '=', id).executeTakeFirst()
  if (row === undefined) return false
  const rows = await own.changeJson(id, JSON.stringify({ ...decodeObject(row.json), metadata }))
  await rows?.setMetadata(metadata)
  return rows !== undefined
}

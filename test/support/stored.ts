import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../src/contract/request.ts'
import type { StoredItem, StoredResponse } from '../../src/contract/store.ts'

export function uniqueId(prefix: string): string {
  return `${prefix}_${randomUUID()}`
}

/** An item to store, with an id of its own. */
export function item(json: JsonObject = {}): StoredItem {
  const id = uniqueId('msg')
  return { id, json: { id, type: 'message', ...json } }
}

export function items(count: number): StoredItem[] {
  return Array.from({ length: count }, (_, index) => item({ index, text: 'some words of a message' }))
}

/** A completed response of `ann`, without items. */
export function response(more: Partial<StoredResponse>): StoredResponse {
  const id = uniqueId('resp')
  return {
    id,
    owner: 'ann',
    createdAtMs: Date.now(),
    status: 'completed',
    json: { id, object: 'response' },
    input: [],
    output: [],
    ...more,
  }
}

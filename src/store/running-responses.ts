import type { Kysely } from 'kysely'
import type { ResponseStore, StoredEvent } from '../contract/store.ts'
import { ResponseRows } from './response-rows.ts'
import { runningStatuses, type Tables } from './tables.ts'

/** The calls of the process that runs a response. It made the id, so no owner is needed. */
export type RunningCall = 'addEvents' | 'renew'

export function createRunningResponses(db: Kysely<Tables>): Pick<ResponseStore, RunningCall> {
  return {
    addEvents: (id, events) => addEvents(db, id, events),
    renew: (ids, untilMs) => renewLeases(db, ids, untilMs),
  }
}

/** Events of a deleted response are dropped. */
async function addEvents(db: Kysely<Tables>, id: string, events: readonly StoredEvent[]): Promise<void> {
  const addedBytes = events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0)
  await db.transaction().execute(async (transaction) => {
    const changed = await transaction
      .updateTable('responses')
      .set((row) => ({ size_bytes: row('size_bytes', '+', addedBytes) }))
      .where('id', '=', id)
      .returning('id')
      .executeTakeFirst()
    if (changed !== undefined) await new ResponseRows(transaction, id).addEvents(events)
  })
}

/** Returns the responses that must be cancelled. */
async function renewLeases(db: Kysely<Tables>, ids: readonly string[], untilMs: number): Promise<string[]> {
  if (ids.length === 0) return []
  const renewed = await db
    .updateTable('responses')
    .set({ lease_until: untilMs })
    .where('id', 'in', ids)
    .where('status', 'in', runningStatuses)
    .returning(['id', 'cancel_requested'])
    .execute()
  const running = new Set(renewed.filter(({ cancel_requested }) => cancel_requested === 0).map(({ id }) => id))
  return ids.filter((id) => !running.has(id))
}

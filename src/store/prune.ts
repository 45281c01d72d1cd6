import type { Kysely } from 'kysely'
import { endedStates } from '../contract/server/batches.ts'
import type { Tables } from './tables.ts'

type Prunable = 'responses' | 'conversations' | 'batches'

const measured = ['responses', 'conversations'] as const
const batchRows = 100
/** 400 days, so that this month can be compared with that of last year. */
const usageKeptMs = 400 * 86_400_000

/**
 * Deletes data that expired before `nowMs`. Each response and conversation has a transaction of its own, so that others wait for one row at
 * most.
 */
export async function deleteExpired(db: Kysely<Tables>, nowMs: number): Promise<void> {
  await db.deleteFrom('key_usage').where('ends_at', '<=', nowMs).execute()
  const oldestDay = new Date(nowMs - usageKeptMs).toISOString().slice(0, 'yyyy-mm-dd'.length)
  await db.deleteFrom('usage_days').where('day', '<', oldestDay).execute()
  for (const table of [...measured, 'batches'] as const) {
    for (;;) {
      const expired = await db.selectFrom(table).select('id').where('expires_at', '<=', nowMs).limit(batchRows).execute()
      for (const { id } of expired) {
        await db.deleteFrom(table).where('id', '=', id).where('expires_at', '<=', nowMs).execute()
      }
      if (expired.length < batchRows) break
    }
  }
}

/** Deletes the longest unchanged data, without batches that run, until the stored JSON is within this limit. */
export async function deleteOldest(db: Kysely<Tables>, maxBytes: number): Promise<void> {
  const batches = await findEndedBatches(db)
  const batchBytes = batches.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  let excessBytes = (await measure(db)) + batchBytes - maxBytes
  while (excessBytes > 0) {
    const oldest = [...batches, ...(await findOldest(db))].sort((one, other) => one.at - other.at).slice(0, batchRows)
    batches.splice(0, oldest.filter(({ table }) => table === 'batches').length)
    for (const { table, id, size_bytes } of oldest) {
      if (excessBytes <= 0) return
      await db.deleteFrom(table).where('id', '=', id).execute()
      excessBytes -= size_bytes
    }
    if (oldest.length === 0) return
  }
}

async function measure(db: Kysely<Tables>): Promise<number> {
  const sums = measured.map((table) =>
    db
      .selectFrom(table)
      .select((row) => row.fn.sum<number | null>('size_bytes').as('sizeBytes'))
      .executeTakeFirst(),
  )
  return (await Promise.all(sums)).reduce((total, sum) => total + Number(sum?.sizeBytes ?? 0), 0)
}

type Old = { readonly table: Prunable; readonly id: string; readonly size_bytes: number; readonly at: number }

/** The oldest first. */
async function findEndedBatches(db: Kysely<Tables>): Promise<Old[]> {
  const rows = await db
    .selectFrom('batches')
    .select(['id', 'size_bytes', 'created_at as at'])
    .where('state', 'in', endedStates)
    .where('size_bytes', '>', 0)
    .orderBy('created_at')
    .execute()
  return rows.map((row) => ({ ...row, table: 'batches' }))
}

async function findOldest(db: Kysely<Tables>): Promise<Old[]> {
  const responses = await db
    .selectFrom('responses')
    .select(['id', 'size_bytes', 'created_at as at'])
    .orderBy('created_at')
    .limit(batchRows)
    .execute()
  const conversations = await db
    .selectFrom('conversations')
    .select(['id', 'size_bytes', 'changed_at as at'])
    .orderBy('changed_at')
    .limit(batchRows)
    .execute()
  return [
    ...responses.map((row) => ({ ...row, table: 'responses' as const })),
    ...conversations.map((row) => ({ ...row, table: 'conversations' as const })),
  ]
}

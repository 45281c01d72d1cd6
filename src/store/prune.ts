import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

type Prunable = 'responses' | 'conversations'

const prunable = ['responses', 'conversations'] as const
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
  for (const table of [...prunable, 'batches'] as const) {
    for (;;) {
      const expired = await db.selectFrom(table).select('id').where('expires_at', '<=', nowMs).limit(batchRows).execute()
      for (const { id } of expired) {
        await db.deleteFrom(table).where('id', '=', id).where('expires_at', '<=', nowMs).execute()
      }
      if (expired.length < batchRows) break
    }
  }
}

/** Deletes the longest unchanged data until the stored JSON is within this limit. */
export async function deleteOldest(db: Kysely<Tables>, maxBytes: number): Promise<void> {
  let excessBytes = (await measure(db)) - maxBytes
  while (excessBytes > 0) {
    const oldest = await findOldest(db)
    for (const { table, id, size_bytes } of oldest) {
      if (excessBytes <= 0) return
      await db.deleteFrom(table).where('id', '=', id).execute()
      excessBytes -= size_bytes
    }
    if (oldest.length === 0) return
  }
}

async function measure(db: Kysely<Tables>): Promise<number> {
  const sums = prunable.map((table) =>
    db
      .selectFrom(table)
      .select((row) => row.fn.sum<number | null>('size_bytes').as('sizeBytes'))
      .executeTakeFirst(),
  )
  return (await Promise.all(sums)).reduce((total, sum) => total + Number(sum?.sizeBytes ?? 0), 0)
}

async function findOldest(
  db: Kysely<Tables>,
): Promise<{ readonly table: Prunable; readonly id: string; readonly size_bytes: number }[]> {
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
    .sort((a, b) => a.at - b.at)
    .slice(0, batchRows)
}

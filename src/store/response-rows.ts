import { type Kysely, sql } from 'kysely'
import type { Metadata, StoredEvent } from '../contract/store.ts'
import { batchesOf, type ItemText } from './item-text.ts'
import type { Tables } from './tables.ts'

type ItemTexts = { readonly input?: readonly ItemText[]; readonly output: readonly ItemText[] }

/** The rows that belong to one response, whose row was locked by an earlier change in the same transaction. */
export class ResponseRows {
  readonly #db: Kysely<Tables>
  readonly #id: string

  constructor(db: Kysely<Tables>, id: string) {
    this.#db = db
    this.#id = id
  }

  async addItems({ input = [], output }: ItemTexts): Promise<void> {
    const toRow = (is_output: 0 | 1) => {
      return ({ item_id, json }: ItemText, position: number) => ({ response_id: this.#id, is_output, position, item_id, json })
    }
    const rows = [...input.map(toRow(0)), ...output.map(toRow(1))]
    for (const batch of batchesOf(rows)) await this.#db.insertInto('response_items').values(batch).execute()
  }

  async setMetadata(metadata: Metadata): Promise<void> {
    await this.#db.deleteFrom('response_metadata').where('response_id', '=', this.#id).execute()
    const rows = Object.entries(metadata).map(([key, value]) => ({ response_id: this.#id, key, value }))
    if (rows.length > 0) await this.#db.insertInto('response_metadata').values(rows).execute()
  }

  async removeOutput(): Promise<void> {
    const removed = await this.#db
      .deleteFrom('response_items')
      .where('response_id', '=', this.#id)
      .where('is_output', '=', 1)
      .returning(sql<number>`octet_length(json)`.as('sizeBytes'))
      .execute()
    if (removed.length === 0) return
    const sizeBytes = removed.reduce((sum, row) => sum + row.sizeBytes, 0)
    await this.#db
      .updateTable('responses')
      .set((row) => ({ size_bytes: row('size_bytes', '-', sizeBytes) }))
      .where('id', '=', this.#id)
      .execute()
  }

  /** Events whose number already exists are skipped. */
  async addEvents(events: readonly StoredEvent[]): Promise<void> {
    const rows = events.map(({ sequence, json }) => ({ response_id: this.#id, sequence, json }))
    for (const batch of batchesOf(rows)) {
      await this.#db
        .insertInto('response_events')
        .values(batch)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  }

  async measure(): Promise<{ readonly count: number; readonly sizeBytes: number }> {
    const items = await this.#db
      .selectFrom('response_items')
      .select(sql<number>`octet_length(json)`.as('sizeBytes'))
      .where('response_id', '=', this.#id)
      .execute()
    return { count: items.length, sizeBytes: items.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) }
  }
}

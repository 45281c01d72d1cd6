import { type Kysely, sql } from 'kysely'
import { batchesOf, type ItemText } from './item-text.ts'
import type { Tables } from './tables.ts'

/** The end of a conversation, from a position that its row reserved in the same transaction. */
export class ConversationRows {
  readonly #db: Kysely<Tables>
  readonly #id: string
  readonly #start: number

  constructor(db: Kysely<Tables>, id: string, start: number) {
    this.#db = db
    this.#id = id
    this.#start = start
  }

  async addItems(items: readonly ItemText[]): Promise<void> {
    const rows = items.map(({ item_id, json }, index) => ({
      conversation_id: this.#id,
      position: this.#start + index,
      item_id,
      json,
    }))
    for (const batch of batchesOf(rows)) await this.#db.insertInto('conversation_items').values(batch).execute()
  }

  async addItemsOf(responseId: string): Promise<void> {
    const position = sql<number>`row_number() over (order by is_output, position) + ${sql.lit(this.#start - 1)}`
    await this.#db
      .insertInto('conversation_items')
      .columns(['conversation_id', 'position', 'item_id', 'json'])
      .expression((query) =>
        query
          .selectFrom('response_items')
          .select([sql<string>`cast(${this.#id} as text)`.as('conversation_id'), position.as('position'), 'item_id', 'json'])
          .where('response_id', '=', responseId),
      )
      .execute()
  }
}

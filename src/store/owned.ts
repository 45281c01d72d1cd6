import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import { ConversationRows } from './conversation-rows.ts'
import { ResponseRows } from './response-rows.ts'
import { runningStatuses, type StoredKind, type Tables } from './tables.ts'

type ResponseRow = Omit<Insertable<Tables['responses']>, 'owner' | 'kind'>
type ConversationRow = Omit<Insertable<Tables['conversations']>, 'owner'>

type Reach = { readonly owner: string; readonly kind: StoredKind; readonly nowMs: number }

/**
 * The unexpired rows of one owner; of the table of responses, those of one kind. Queries for a caller reach the database only through it,
 * so that none can find or change another owner's data: items and events are reached through the response or the conversation that they
 * belong to.
 */
export class Owned {
  readonly #db: Kysely<Tables>
  readonly #reach: Reach
  readonly #owner: string
  readonly nowMs: number

  constructor(db: Kysely<Tables>, reach: Reach) {
    this.#db = db
    this.#reach = reach
    this.#owner = reach.owner
    this.nowMs = reach.nowMs
  }

  /** All or nothing. */
  change<T>(work: (own: Owned) => Promise<T>): Promise<T> {
    return this.#db.transaction().execute((db) => work(new Owned(db, this.#reach)))
  }

  /** Reads at one point in time. */
  read<T>(work: (own: Owned) => Promise<T>): Promise<T> {
    const transaction = this.#db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read')
    return transaction.execute((db) => work(new Owned(db, this.#reach)))
  }

  responses() {
    return this.#db
      .selectFrom('responses')
      .where('responses.owner', '=', this.#owner)
      .where('kind', '=', this.#reach.kind)
      .where('responses.expires_at', '>', this.nowMs)
  }

  responseItems() {
    return this.responses().innerJoin('response_items', 'response_items.response_id', 'responses.id')
  }

  responseEvents() {
    return this.responses().innerJoin('response_events', 'response_events.response_id', 'responses.id')
  }

  conversations() {
    return this.#db
      .selectFrom('conversations')
      .where('conversations.owner', '=', this.#owner)
      .where('conversations.expires_at', '>', this.nowMs)
  }

  conversationItems() {
    return this.conversations().innerJoin('conversation_items', 'conversation_items.conversation_id', 'conversations.id')
  }

  /** A response and everything that it continues, as far as it exists, with the items; `depth` is 0 for the response itself. */
  chain(id: string) {
    return this.#db
      .withRecursive('chain(id, previous_id, depth)', (db) =>
        db
          .selectFrom('responses')
          .select(['id', 'previous_id', sql<number>`0`.as('depth')])
          .where('id', '=', id)
          .where('owner', '=', this.#owner)
          .where('kind', '=', this.#reach.kind)
          .where('expires_at', '>', this.nowMs)
          .unionAll(
            db
              .selectFrom('responses')
              .innerJoin('chain', 'chain.previous_id', 'responses.id')
              .select(['responses.id', 'responses.previous_id', sql<number>`chain.depth + 1`.as('depth')])
              .where('responses.owner', '=', this.#owner)
              .where('kind', '=', this.#reach.kind)
              .where('responses.expires_at', '>', this.nowMs),
          ),
      )
      .selectFrom('chain')
      .leftJoin('response_items', 'response_items.response_id', 'chain.id')
  }

  /** Undefined: the id is in use, perhaps by another owner. */
  async addResponse(response: ResponseRow): Promise<ResponseRows | undefined> {
    const added = await this.#db
      .insertInto('responses')
      .values({ ...response, owner: this.#owner, kind: this.#reach.kind })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    return added && new ResponseRows(this.#db, added.id)
  }

  /** Undefined: no such response is running. `addedBytes`: the size of the JSON and of additions to it. */
  async changeRunning(
    id: string,
    change: Pick<Selectable<Tables['responses']>, 'json' | 'model' | 'status' | 'lease_until'>,
    addedBytes: number,
  ): Promise<ResponseRows | undefined> {
    const changed = await this.#running(id)
      .set(change)
      .set({ size_bytes: sizeWith(addedBytes) })
      .returning('id')
      .executeTakeFirst()
    return changed && new ResponseRows(this.#db, changed.id)
  }

  /** False: none is running under a lease. */
  async requestCancel(id: string): Promise<boolean> {
    const query = this.#running(id).set({ cancel_requested: 1 }).where('lease_until', '>', this.nowMs).returning('id')
    return (await query.executeTakeFirst()) !== undefined
  }

  /** Undefined if it does not exist. */
  async changeJson(id: string, json: string): Promise<ResponseRows | undefined> {
    const changed = await this.#changeResponse(id)
      .set({ json, size_bytes: sizeWith(Buffer.byteLength(json)) })
      .returning('id')
      .executeTakeFirst()
    return changed && new ResponseRows(this.#db, changed.id)
  }

  async deleteResponse(id: string): Promise<boolean> {
    const query = this.#db
      .deleteFrom('responses')
      .where('id', '=', id)
      .where('owner', '=', this.#owner)
      .where('kind', '=', this.#reach.kind)
      .where('expires_at', '>', this.nowMs)
      .returning('id')
    return (await query.executeTakeFirst()) !== undefined
  }

  #running(id: string) {
    return this.#changeResponse(id).where('status', 'in', runningStatuses)
  }

  #changeResponse(id: string) {
    return this.#db
      .updateTable('responses')
      .where('id', '=', id)
      .where('owner', '=', this.#owner)
      .where('kind', '=', this.#reach.kind)
      .where('expires_at', '>', this.nowMs)
  }

  /** Undefined: the id is in use, perhaps by another owner. */
  async addConversation(conversation: ConversationRow): Promise<ConversationRows | undefined> {
    const added = await this.#db
      .insertInto('conversations')
      .values({ ...conversation, owner: this.#owner })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    return added && new ConversationRows(this.#db, added.id, 0)
  }

  /** Reserves positions at the end of a conversation. Undefined: no such conversation. */
  async extendConversation(
    id: string,
    { count, sizeBytes, expiresAtMs }: { count: number; sizeBytes: number; expiresAtMs: number },
  ): Promise<ConversationRows | undefined> {
    const extended = await this.#changeConversation(id)
      .set((row) => ({
        next_position: row('next_position', '+', count),
        size_bytes: row('size_bytes', '+', sizeBytes),
        changed_at: this.nowMs,
        expires_at: expiresAtMs,
      }))
      .returning(['id', 'next_position'])
      .executeTakeFirst()
    return extended && new ConversationRows(this.#db, extended.id, extended.next_position - count)
  }

  /** False: no such conversation. */
  async setMetadata(id: string, metadata: string, expiresAtMs: number): Promise<boolean> {
    const query = this.#changeConversation(id).set({ metadata, changed_at: this.nowMs, expires_at: expiresAtMs }).returning('id')
    return (await query.executeTakeFirst()) !== undefined
  }

  /** False: no such item. */
  async deleteConversationItem(id: string, itemId: string): Promise<boolean> {
    const own = this.conversations().select('conversations.id').where('conversations.id', '=', id)
    const query = this.#db
      .deleteFrom('conversation_items')
      .where('conversation_id', 'in', own)
      .where('item_id', '=', itemId)
      .returning(sql<number>`octet_length(json)`.as('sizeBytes'))
    const deleted = await query.execute()
    if (deleted.length === 0) return false
    const sizeBytes = deleted.reduce((sum, row) => sum + row.sizeBytes, 0)
    await this.#changeConversation(id)
      .set((row) => ({ size_bytes: row('size_bytes', '-', sizeBytes) }))
      .execute()
    return true
  }

  async deleteConversation(id: string): Promise<boolean> {
    const query = this.#db
      .deleteFrom('conversations')
      .where('id', '=', id)
      .where('owner', '=', this.#owner)
      .where('expires_at', '>', this.nowMs)
      .returning('id')
    return (await query.executeTakeFirst()) !== undefined
  }

  #changeConversation(id: string) {
    return this.#db
      .updateTable('conversations')
      .where('id', '=', id)
      .where('owner', '=', this.#owner)
      .where('expires_at', '>', this.nowMs)
  }
}

/** The size of a row whose JSON is replaced; `addedBytes`: the size of the new JSON and of additions to the row. */
function sizeWith(addedBytes: number) {
  return sql<number>`size_bytes - octet_length(json) + ${sql.lit(addedBytes)}`
}

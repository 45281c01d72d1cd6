import { type Kysely, sql } from 'kysely'
import type { SharedDocuments } from '../contract/store.ts'
import type { PostgresLink } from './postgres-link.ts'
import type { Tables } from './tables.ts'

const channel = 'dragoman_documents'
/** For notifications that are lost, such as behind a pooler of connections that does not pass them on. */
const readAgainMs = 30_000

type Watched = {
  version: number
  json: unknown
  readonly listeners: ((json: unknown) => void)[]
  /** The read that runs, and the one that begins after it for all who ask meanwhile. */
  running: Promise<void>
  next: Promise<void> | undefined
}

/** Documents in a table, whose changes are notifications. */
export class PostgresDocuments implements SharedDocuments {
  readonly #db: Kysely<Tables>
  readonly #link: PostgresLink
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(db: Kysely<Tables>, link: PostgresLink) {
    this.#db = db
    this.#link = link
  }

  async watch(name: string, listener: (json: unknown) => void): Promise<void> {
    const known = this.#watched.get(name)
    if (known !== undefined) {
      known.listeners.push(listener)
      if (known.version > 0) listener(known.json)
      return
    }
    const isFirst = this.#watched.size === 0
    this.#watched.set(name, { version: 0, json: undefined, listeners: [listener], running: Promise.resolve(), next: undefined })
    if (isFirst) {
      const readAll = () => {
        for (const each of this.#watched.keys()) this.refresh(each).catch(() => undefined)
      }
      this.#timer = setInterval(readAll, readAgainMs).unref()
      await this.#link.subscribe(channel, (changed) => void this.refresh(changed).catch(() => undefined), readAll)
    }
    await this.refresh(name)
  }

  refresh(name: string): Promise<void> {
    const watched = this.#watched.get(name)
    if (watched === undefined) return Promise.resolve()
    watched.next ??= watched.running
      .catch(() => undefined)
      .then(() => {
        watched.next = undefined
        watched.running = this.#read(name, watched.version)
        return watched.running
      })
    return watched.next
  }

  async change(name: string, edit: (json: unknown) => unknown): Promise<void> {
    const changed = await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('documents')
        .values({ name, version: 0, json: 'null' })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const { version, json } = await transaction
        .selectFrom('documents')
        .select(['version', 'json'])
        .where('name', '=', name)
        .forUpdate()
        .executeTakeFirstOrThrow()
      const before: unknown = version === 0 ? undefined : JSON.parse(json)
      const after = edit(before)
      if (after === before) return undefined
      const next = { version: version + 1, json: JSON.stringify(after) }
      await transaction.updateTable('documents').set(next).where('name', '=', name).execute()
      await sql`select pg_notify(${channel}, ${name})`.execute(transaction)
      return next
    })
    if (changed !== undefined) this.#take(name, changed)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #read(name: string, version: number): Promise<void> {
    const row = await this.#db
      .selectFrom('documents')
      .select(['version', 'json'])
      .where('name', '=', name)
      .where('version', '>', version)
      .executeTakeFirst()
    if (row !== undefined) this.#take(name, row)
  }

  #take(name: string, { version, json }: { readonly version: number; readonly json: string }): void {
    const watched = this.#watched.get(name)
    if (watched === undefined || watched.version >= version) return
    watched.version = version
    watched.json = JSON.parse(json)
    for (const listener of watched.listeners) listener(watched.json)
  }
}

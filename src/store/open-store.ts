import { Kysely } from 'kysely'
import type { Store } from '../contract/store.ts'
import { createConversationStore } from './conversation-store.ts'
import { createLifetimes, type LifetimeOptions } from './lifetimes.ts'
import { migrate } from './migrate.ts'
import { deleteExpired, deleteOldest } from './prune.ts'
import { createResponseStore } from './response-store.ts'
import { SqliteClient } from './sqlite-client.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { type SqliteLibrary, sqliteLibraries } from './sqlite-driver.ts'
import type { Tables } from './tables.ts'

export type StoreOptions = LifetimeOptions & {
  /** The database file, created when it is missing. */
  readonly path: string
  /** The SQLite libraries to try. */
  readonly libraries?: readonly SqliteLibrary[]
  /** The limit of the JSON that is kept, which `prune` restores. */
  readonly maxBytes?: number
}

/** Opens the database, and brings its tables up to date. */
export async function openStore({
  path,
  libraries = sqliteLibraries,
  maxBytes,
  ...lifetimeOptions
}: StoreOptions): Promise<Store> {
  const client = await SqliteClient.open({ path, libraries })
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(client) })
  try {
    await migrate(db)
  } catch (error) {
    await db.destroy()
    throw error
  }
  const lifetimes = createLifetimes(lifetimeOptions)
  return {
    responses: createResponseStore(db, lifetimes),
    conversations: createConversationStore(db, lifetimes),
    async prune(nowMs) {
      await deleteExpired(db, nowMs)
      if (maxBytes !== undefined) await deleteOldest(db, maxBytes)
    },
    close: () => db.destroy(),
  }
}

import { type Dialect, Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { AppError } from '../contract/errors.ts'
import type { BatchStore } from '../contract/server/batches.ts'
import type { Carrier } from '../contract/server/shared.ts'
import type { Store } from '../contract/store.ts'
import { createBatchStore } from './batch-store.ts'
import { createCompletionStore } from './completion-store.ts'
import { createConversationStore } from './conversation-store.ts'
import { createLifetimes, type LifetimeOptions } from './lifetimes.ts'
import { migrationProvider } from './migrations.ts'
import { Owned } from './owned.ts'
import { createPostgresCarrier } from './postgres-carrier.ts'
import { createPostgresDialect, upkeepTimeoutMs } from './postgres-dialect.ts'
import { createPostgresFiles } from './postgres-files.ts'
import { PostgresLink } from './postgres-link.ts'
import { deleteExpired, deleteOldest } from './prune.ts'
import { createResponseStore } from './response-store.ts'
import { createRunningResponses } from './running-responses.ts'
import { SqliteClient } from './sqlite-client.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import type { StoredKind, Tables } from './tables.ts'
import { createUsageCounter } from './usage-counter.ts'
import { createUsageDays } from './usage-days.ts'

/** A file for SQLite, created when it is missing, or the URL of a PostgreSQL database. */
export type DatabaseLocation =
  | { readonly type: 'sqlite'; readonly path: string }
  | { readonly type: 'postgres'; readonly url: string }

type StoreOptions = LifetimeOptions & {
  readonly database: DatabaseLocation
  /** The limit of the JSON that is kept, which `prune` restores. */
  readonly maxBytes?: number
}

/** `shared`: a carrier between processes, of a database that can be one. */
export type OpenStore = Store & { readonly batches: BatchStore; readonly shared?: Carrier }

/** Opens a database, and brings its tables up to date. */
export async function openStore({ database, maxBytes, ...lifetimeOptions }: StoreOptions): Promise<OpenStore> {
  const db = new Kysely<Tables>({ dialect: await openDialect(database) })
  const upkeep = database.type === 'postgres' ? new Kysely<Tables>({ dialect: await upkeepDialect(database.url) }) : db
  const closeBoth = () => Promise.all([...new Set([db, upkeep])].map((one) => one.destroy()))
  try {
    await migrate(upkeep)
  } catch (error) {
    await closeBoth()
    throw error
  }
  const lifetimes = createLifetimes(lifetimeOptions)
  const usage = createUsageCounter(db, database.type)
  const link = database.type === 'postgres' ? new PostgresLink(database.url) : undefined
  const ofKind = (kind: StoredKind) => (owner: string) => new Owned(db, { owner, kind, nowMs: lifetimes.now() })
  return {
    responses: { ...createResponseStore(ofKind('response'), lifetimes), ...createRunningResponses(db) },
    conversations: createConversationStore(ofKind('response'), lifetimes),
    completions: createCompletionStore(ofKind('completion'), lifetimes),
    batches: createBatchStore(db, { type: database.type, now: lifetimes.now, expiry: lifetimes.responseExpiry }),
    usage,
    usageDays: createUsageDays(db),
    ...(link !== undefined && { shared: createPostgresCarrier({ db, link, usage }), files: createPostgresFiles(db) }),
    async prune(nowMs) {
      await deleteExpired(upkeep, nowMs)
      if (maxBytes !== undefined) await deleteOldest(upkeep, maxBytes)
    },
    async close() {
      await Promise.all([closeBoth(), link?.close()])
    },
  }
}

function upkeepDialect(url: string): Promise<Dialect> {
  return createPostgresDialect(url, upkeepTimeoutMs)
}

async function openDialect(database: DatabaseLocation): Promise<Dialect> {
  if (database.type === 'postgres') return createPostgresDialect(database.url)
  const { path } = database
  const writes = await SqliteClient.open({ path })
  try {
    return createSqliteDialect({ writes, reads: await SqliteClient.open({ path, onlyReads: true }) })
  } catch (error) {
    await writes.close()
    throw error
  }
}

const migrationTable = 'dragoman_migrations'

/**
 * Brings the tables up to date. If several processes start together, one does it while the others wait. Throws `invalid-request` for tables
 * of a later version.
 */
async function migrate(db: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: migrationProvider,
    migrationTableName: migrationTable,
    migrationLockTableName: `${migrationTable}_lock`,
  })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return
  const unknown = await findUnknownMigration(db)
  if (unknown === undefined) throw error
  const message = `it was written by a later version of Dragoman (its tables have '${unknown}'): update Dragoman, or choose another database`
  throw new AppError('invalid-request', message, { cause: error })
}

/** The name of a migration that this version lacks. */
async function findUnknownMigration(db: Kysely<Tables>): Promise<string | undefined> {
  const known = await migrationProvider.getMigrations()
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === migrationTable)) return undefined
  const done = await db.withTables<{ [migrationTable]: { name: string } }>().selectFrom(migrationTable).select('name').execute()
  return done.find(({ name }) => !Object.hasOwn(known, name))?.name
}

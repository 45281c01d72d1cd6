import type { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { AppError } from '../contract/errors.ts'
import { migrationProvider } from './migrations.ts'
import type { Tables } from './tables.ts'

const migrationTable = 'dragoman_migrations'

/**
 * Brings the tables up to date. If several processes start together, one does it while the others wait. Throws `invalid-request` for tables
 * of a later version.
 */
export async function migrate(db: Kysely<Tables>): Promise<void> {
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

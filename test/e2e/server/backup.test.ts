import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Dialect, Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrationProvider } from '../../../src/store/migrations.ts'
import { type DatabaseLocation, openStore } from '../../../src/store/open-store.ts'
import { createPostgresDialect } from '../../../src/store/postgres-dialect.ts'
import { SqliteClient } from '../../../src/store/sqlite-client.ts'
import { createSqliteDialect } from '../../../src/store/sqlite-dialect.ts'
import { useCommandLine } from '../../support/process/command-line.ts'
import { hasPostgres, postgresHint, postgresProgram, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { items, response } from '../../support/stored.ts'

const run = promisify(execFile)
const cli = useCommandLine()
/** The changes of the tables so far: each was once the newest. */
const versions = Object.keys(await migrationProvider.getMigrations())
const guide = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8')
/** A command of the guide, as a shell runs it in a folder. */
async function follow(start: string, options: { cwd: string; env?: Record<string, string> }): Promise<void> {
  const [command] = guide.split('\n').filter((line) => line.startsWith(start))
  if (command === undefined) throw new Error(`docs/operating.md has no command ${start}`)
  await run('sh', ['-c', command], { ...options, env: { ...process.env, ...options.env } })
}

async function ask(url: string, input: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'scripted', input }),
  })
  expect(reply.status).toBe(200)
  return ((await reply.json()) as { id: string }).id
}

const statusOf = async (url: string, id: string) => (await fetch(`${url}/v1/responses/${id}`)).status

/** Serves with a data folder and a database, and ends as operators end it. */
async function serving<T>(env: Record<string, string>, work: (url: string) => Promise<T>): Promise<T> {
  const server = await cli.serve([], env)
  const result = await work(server.url)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  return result
}

describe('a backup of the store in SQLite', () => {
  test('is made while a server uses it, and restored by the commands of the guide', async () => {
    const home = join(cli.home, 'first')
    const restored = join(cli.home, 'restored')
    const [kept = '', later = ''] = await serving({ DRAGOMAN_HOME: home }, async (url) => {
      const first = await ask(url, 'before')
      await follow('node -e', { cwd: home })
      return [first, await ask(url, 'after')]
    })
    mkdirSync(restored, { mode: 0o700 })
    cpSync(join(home, 'store-backup.db'), join(restored, 'store.db'))
    cpSync(join(home, 'seal-key'), join(restored, 'seal-key'))
    const statuses = await serving({ DRAGOMAN_HOME: restored }, async (url) => [
      await statusOf(url, kept),
      await statusOf(url, later),
    ])
    expect(statuses).toEqual([200, 404])
  })
})

describe.skipIf(!hasPostgres)(`a backup of the store in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  const PATH = `${postgresProgram('.')}:${process.env.PATH}`

  test('is made while a server uses it, and restored by the commands of the guide', async () => {
    const [first, second] = [await postgres.createDatabase(), await postgres.createDatabase()]
    const [kept = '', later = ''] = await serving({ DRAGOMAN_STORAGE: first }, async (url) => {
      const before = await ask(url, 'before')
      await follow('pg_dump', { cwd: cli.home, env: { PATH, DRAGOMAN_STORAGE: first } })
      return [before, await ask(url, 'after')]
    })
    await follow('pg_restore', { cwd: cli.home, env: { PATH, DRAGOMAN_STORAGE: second } })
    const statuses = await serving({ DRAGOMAN_STORAGE: second }, async (url) => [
      await statusOf(url, kept),
      await statusOf(url, later),
    ])
    expect(statuses).toEqual([200, 404])
  })

  test.each(versions)('one that ends with %s is taken over', async (version) => {
    const url = await postgres.createDatabase()
    await fillAsBefore(await createPostgresDialect(url), version)
    await expectTakenOver({ type: 'postgres', url })
  })
})

test.each(versions)('a store in SQLite that ends with %s is taken over', async (version) => {
  const path = join(cli.home, `${version}.db`)
  const clients = { reads: await SqliteClient.open({ path }), writes: await SqliteClient.open({ path }) }
  await fillAsBefore(createSqliteDialect(clients), version)
  await expectTakenOver({ type: 'sqlite', path })
})

/** Makes the tables as they were when this was the newest change of them, with a response and a conversation. */
async function fillAsBefore(dialect: Dialect, version: string): Promise<void> {
  const db = new Kysely<Record<string, Record<string, unknown>>>({ dialect })
  const names = { migrationTableName: 'dragoman_migrations', migrationLockTableName: 'dragoman_migrations_lock' }
  const { error } = await new Migrator({ db, provider: migrationProvider, ...names }).migrateTo(version)
  expect(error).toBe(undefined)
  const row = { owner: 'ann', created_at: 1, expires_at: Number.MAX_SAFE_INTEGER, size_bytes: 2 }
  const json = JSON.stringify({ id: 'resp_before' })
  await db
    .insertInto('responses')
    .values({ ...row, id: 'resp_before', status: 'completed', cancel_requested: 0, json })
    .execute()
  await db.destroy()
}

async function expectTakenOver(database: DatabaseLocation): Promise<void> {
  const store = await openStore({ database })
  try {
    expect(await store.responses.find('ann', 'resp_before')).toMatchObject({ id: 'resp_before', status: 'completed' })
    const now = response({ input: items(1) })
    await store.responses.save(now)
    expect(await store.responses.find('ann', now.id)).toEqual(now)
  } finally {
    await store.close()
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type OpenStore, openStore } from '../../src/store/open-store.ts'
import { SqliteFile } from '../../src/store/sqlite-file.ts'
import { until } from './http/app.ts'

type Kept = { readonly store: OpenStore; readonly file: SqliteFile; isClosed: boolean }

/** Databases that no test uses now: their threads take longer to start than most tests to run. */
const idle: Kept[] = []

/** An empty database that the test has for itself. */
export async function openTestStore(): Promise<OpenStore> {
  const kept = idle.pop() ?? (await openNew())
  // What the last test began may still be written, and this thread has a part in it.
  await until(() => isEmptied(kept.file))
  onTestFinished(() => {
    if (!kept.isClosed) idle.push(kept)
  })
  // Tests may replace its functions.
  const { responses, conversations } = kept.store
  return { ...kept.store, responses: { ...responses }, conversations: { ...conversations } }
}

async function openNew(): Promise<Kept> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-store-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const store = await openStore({ database: { type: 'sqlite', path } })
  const kept: Kept = { store: { ...store, close }, file: new SqliteFile(path), isClosed: false }
  async function close(): Promise<void> {
    kept.isClosed = true
    kept.file.close()
    await store.close()
  }
  return kept
}

/** Through a connection of its own: a store has no way to delete everything. False while the store writes. */
function isEmptied(file: SqliteFile): boolean {
  try {
    file.query('begin immediate', [])
  } catch (error) {
    if (String(error).includes('database is locked')) return false
    throw error
  }
  const tables = file.query("select name from sqlite_master where type = 'table' and name not like '%kysely%'", [])
  for (const { name } of tables) file.query(`delete from "${name}"`, [])
  file.query('commit', [])
  return true
}

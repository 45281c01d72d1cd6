import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from './open-store.ts'
import { Owned } from './owned.ts'
import { SqliteFile } from './sqlite-file.ts'
import type { Tables } from './tables.ts'

/**
 * What sees the rows of all owners: what opens, migrates and prunes the database, `Owned` itself, what it hands out, the counters of
 * keys and the documents of operators, which have no owners, the files, whose every query names one, and batches, which processes run for all
 * owners.
 */
const withoutOwner = [
  'batch-store.ts',
  'conversation-rows.ts',
  'migrations.ts',
  'open-store.ts',
  'owned.ts',
  'postgres-carrier.ts',
  'postgres-files.ts',
  'prune.ts',
  'response-rows.ts',
  'running-responses.ts',
  'usage-counter.ts',
  'usage-days.ts',
]

test('what answers callers reaches rows by their owner only: it has no database', () => {
  const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const seeing = files.filter((file) =>
    /\bKysely\b/.test(readFileSync(new URL(file, import.meta.url), 'utf8').replace(/\/\/.*|\*.*/g, '')),
  )
  expect(seeing).toEqual(withoutOwner)
})

/** For the texts of queries. */
const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})
const own = new Owned(db, { owner: 'ann', kind: 'response', nowMs: 0 })
const ids = Array.from({ length: 100 }, (_, index) => `${index}`)

// SQLite decides before an owner has hundreds of thousands of them.
test.each<[name: string, query: Compilable]>([
  ['a response and what it continues', own.chain('one').select('item_id')],
  ['responses', own.responses().select('json').where('responses.id', 'in', ids)],
  ['items of responses', own.responseItems().select('item_id').where('responses.id', 'in', ids)],
  ['items', own.responseItems().select('item_id').where('item_id', 'in', ids)],
  ['items of conversations', own.conversationItems().select('item_id').where('item_id', 'in', ids)],
])('%s are found by their ids, not among all of their owner', async (_, query) => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-plans-'))
  const path = join(folder, 'store.db')
  await (await openStore({ database: { type: 'sqlite', path } })).close()
  const file = new SqliteFile(path)
  onTestFinished(() => {
    file.close()
    rmSync(folder, { recursive: true })
  })
  const { sql, parameters } = query.compile()
  const plan = file.query(`explain query plan ${sql}`, parameters).map(({ detail }) => detail)
  expect(plan.join('\n')).not.toMatch(/\(owner=\?|SCAN (?!chain)/)
})

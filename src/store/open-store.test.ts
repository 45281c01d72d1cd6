import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { describeStoreContract } from '../../test/store-contract.ts'
import { openStore } from './open-store.ts'
import { sqliteLibraries } from './sqlite-driver.ts'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Node.js 20 has no SQLite of its own. */
const hasNodeSqlite = process.getBuiltinModule('node:sqlite') !== undefined
const libraries = sqliteLibraries.filter((library) => library !== 'node:sqlite' || hasNodeSqlite)

for (const library of libraries) {
  describeStoreContract(library, (settings) => {
    const path = join(folder, `${library.replace(':', '-')}.db`)
    return openStore({ database: { type: 'sqlite', path, libraries: [library] }, ...settings })
  })
}

describe('the database file', () => {
  test('is for its user only, and so is its folder', async () => {
    const path = join(folder, 'new', 'store.db')
    const store = await openStore({ database: { type: 'sqlite', path } })
    const modeOf = (name: string) => statSync(name).mode & 0o777
    expect([path, `${path}-wal`, join(folder, 'new')].map(modeOf)).toEqual([0o600, 0o600, 0o700])
    await store.close()
  })

  test('without a library for SQLite, the error names what to install', async () => {
    const opening = openStore({ database: { type: 'sqlite', path: join(folder, 'none.db'), libraries: [] } })
    await expect(opening).rejects.toThrow(/Node.js 22.13.*`libsql`.*PostgreSQL/)
  })
})

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { describeStoreContract } from '../../test/store-contract.ts'
import { openStore } from './open-store.ts'
import { openSqliteFile, sqliteLibraries } from './sqlite-driver.ts'

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

  test.each(libraries)('while another process changes it, %s reads at once, and what is to be changed waits', async (library) => {
    const path = join(folder, `locked-${library.replace(':', '-')}.db`)
    const store = await openStore({ database: { type: 'sqlite', path, libraries: [library] } })
    await store.conversations.create({ owner: 'a', id: 'conv_1', createdAtMs: Date.now(), metadata: {} }, [])
    const other = await openSqliteFile(path, [library])
    other.query('begin immediate', [])
    const created = store.conversations.create({ owner: 'a', id: 'conv_2', createdAtMs: Date.now(), metadata: {} }, [])
    expect(await store.conversations.find('a', 'conv_1')).toMatchObject({ id: 'conv_1' })
    expect(await store.responses.find('a', 'resp_1')).toBeUndefined()
    other.query('rollback', [])
    await created
    expect(await store.conversations.find('a', 'conv_2')).toMatchObject({ id: 'conv_2' })
    other.close()
    await store.close()
  })

  test.each(libraries)(
    'while another process keeps it locked, %s lets only the first change wait, and says why',
    async (library) => {
      const path = join(folder, `kept-${library.replace(':', '-')}.db`)
      const store = await openStore({ database: { type: 'sqlite', path, libraries: [library] } })
      const other = await openSqliteFile(path, [library])
      other.query('begin immediate', [])
      const create = (id: string) =>
        store.conversations.create({ owner: 'a', id, createdAtMs: Date.now(), metadata: {} }, []).catch((error: unknown) => error)
      const startedMs = performance.now()
      const failures = await Promise.all(['conv_1', 'conv_2', 'conv_3', 'conv_4'].map(create))
      expect(performance.now() - startedMs).toBeLessThan(15_000)
      for (const failure of failures) {
        expect(failure).toMatchObject({ code: 'store-unavailable', message: expect.stringContaining('another process keeps') })
      }
      other.query('rollback', [])
      expect(await create('conv_5')).not.toBeInstanceOf(Error)
      other.close()
      await store.close()
    },
    30_000,
  )

  test('without a library for SQLite, the error names what to install', async () => {
    const opening = openStore({ database: { type: 'sqlite', path: join(folder, 'none.db'), libraries: [] } })
    await expect(opening).rejects.toThrow(/Node.js 22.13.*`libsql`.*PostgreSQL/)
  })
})

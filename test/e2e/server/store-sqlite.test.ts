import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { SqliteFile } from '../../../src/store/sqlite-file.ts'
import { describeStoreProcesses } from '../../store-processes.ts'
import { uniqueId } from '../../support/stored.ts'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-store-processes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describeStoreProcesses('SQLite', {
  create: async () => ({ type: 'sqlite', path: join(folder, uniqueId('new'), 'store.db') }),
  query: async (database, sql) => {
    if (database.type !== 'sqlite') throw new Error('this database is not a file')
    const file = new SqliteFile(database.path)
    expect(file.query('pragma integrity_check', [])).toEqual([{ integrity_check: 'ok' }])
    const rows = file.query(sql, [])
    file.close()
    return rows
  },
})

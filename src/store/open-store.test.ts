import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { describeStoreContract } from '../../test/store-contract.ts'
import { response } from '../../test/support/stored.ts'
import type { ListFilter } from '../contract/store.ts'
import { openStore } from './open-store.ts'
import { SqliteFile } from './sqlite-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describeStoreContract('SQLite', (settings) =>
  openStore({ database: { type: 'sqlite', path: join(folder, 'contract.db') }, ...settings }),
)

describe('the database file', () => {
  test('is for its user only, and so is its folder', async () => {
    const path = join(folder, 'new', 'store.db')
    const store = await openStore({ database: { type: 'sqlite', path } })
    const modeOf = (name: string) => statSync(name).mode & 0o777
    expect([path, `${path}-wal`, join(folder, 'new')].map(modeOf)).toEqual([0o600, 0o600, 0o700])
    await store.close()
  })

  test('of an earlier version keeps its responses, which lists find by model and metadata', async () => {
    const path = join(folder, 'earlier.db')
    const open = () => openStore({ database: { type: 'sqlite', path } })
    const before = await open()
    const saved = Array.from({ length: 250 }, (_, index) =>
      response({ json: { model: index % 2 === 0 ? 'even' : 'odd', metadata: { number: String(index) } } }),
    )
    for (const each of saved) await before.responses.save(each)
    await before.close()
    const file = new SqliteFile(path)
    for (const table of ['usage_days', 'file_pieces', 'files', 'documents', 'response_metadata'])
      file.query(`drop table ${table}`, [])
    file.query('drop index responses_list', [])
    for (const column of ['kind', 'model']) file.query(`alter table responses drop column ${column}`, [])
    file.query("delete from dragoman_migrations where name >= '0003'", [])
    file.close()
    const { responses, close } = await open()
    const page = { limit: 500, order: 'asc' } as const
    const idsOf = async (filter: ListFilter) => (await responses.list('ann', page, filter)).responses.map(({ id }) => id)
    const even = saved.filter(({ json }) => json.model === 'even').map(({ id }) => id)
    expect((await idsOf({ models: ['even'] })).sort()).toEqual(even.sort())
    expect(await idsOf({ metadata: { number: '201' } })).toEqual([saved[201]?.id])
    await close()
  })

  test('while another process changes it, reads run at once, and changes wait', async () => {
    const path = join(folder, 'locked.db')
    const store = await openStore({ database: { type: 'sqlite', path } })
    await store.conversations.create({ owner: 'a', id: 'conv_1', createdAtMs: Date.now(), metadata: {} }, [])
    const other = new SqliteFile(path)
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

  test('while another process keeps it locked, only the first change waits, and the error says why', async () => {
    const path = join(folder, 'kept.db')
    const store = await openStore({ database: { type: 'sqlite', path } })
    const other = new SqliteFile(path)
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
  })
})

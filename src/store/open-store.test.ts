import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { describeStoreContract } from '../../test/store-contract.ts'
import { response } from '../../test/support/stored.ts'
import type { ListFilter } from '../contract/store.ts'
import { openStore } from './open-store.ts'
import { SqliteFile } from './sqlite-file.ts'

/** Stores that servers of earlier versions wrote, with responses of the model `scripted`, one of them in a conversation. */
const earlier = fileURLToPath(new URL('../../test/fixtures/stores', import.meta.url))
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

  test.each(readdirSync(earlier))('written by an earlier version (%s) keeps its responses and conversations', async (name) => {
    const path = join(folder, `${name}.db`)
    const file = new DatabaseSync(path)
    file.exec(readFileSync(join(earlier, name), 'utf8'))
    const all = (sql: string) => file.prepare(sql).all() as Record<string, string>[]
    const saved = all('select id, owner, json from responses order by created_at, id')
    const conversations = all('select id, owner, metadata from conversations')
    const items = all('select item_id, json from conversation_items order by position')
    file.close()

    const store = await openStore({ database: { type: 'sqlite', path } })
    expect(saved).toHaveLength(3)
    for (const { id = '', owner = '', json = '' } of saved) {
      expect(await store.responses.find(owner, id)).toMatchObject({ id, status: 'completed', json: JSON.parse(json) })
      expect((await store.responses.history(owner, id))?.length).toBeGreaterThan(1)
    }
    const [{ id = '', owner = '', metadata = '' } = {}] = conversations
    expect(await store.conversations.find(owner, id)).toMatchObject({ id, metadata: JSON.parse(metadata) })
    const kept = items.map(({ item_id, json = '' }) => ({ id: item_id, json: JSON.parse(json) }))
    expect(await store.conversations.history(owner, id)).toEqual(kept)
    const { responses } = await store.responses.list(owner, { limit: 9, order: 'asc' }, { models: ['scripted'] })
    expect(responses.map((one) => one.id)).toEqual(saved.map((one) => one.id))
    await store.close()
  })

  test('of an earlier version fills what lists find by model and metadata', async () => {
    const path = join(folder, 'earlier.db')
    const open = () => openStore({ database: { type: 'sqlite', path } })
    const before = await open()
    const saved = Array.from({ length: 250 }, (_, index) =>
      response({ json: { model: index % 2 === 0 ? 'even' : 'odd', metadata: { number: String(index) } } }),
    )
    for (const each of saved) await before.responses.save(each)
    await before.close()
    const file = new SqliteFile(path)
    for (const table of ['batch_lines', 'batches', 'usage_days', 'file_pieces', 'files', 'documents', 'response_metadata'])
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

  test('is pruned without a look at the lines of batches, of which there may be gigabytes', async () => {
    const path = join(folder, 'lines.db')
    await (await openStore({ database: { type: 'sqlite', path } })).close()
    const file = new SqliteFile(path)
    file.query('drop table batch_lines', [])
    file.close()
    const store = await openStore({ database: { type: 'sqlite', path }, maxBytes: 1000 })
    await store.prune(Date.now())
    await store.close()
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

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../test/support/http/app.ts'
import { items, response } from '../../test/support/stored.ts'
import { configSchema } from '../config/schema.ts'
import { SqliteFile } from '../store/sqlite-file.ts'
import { connectStore, describeStore, openConfiguredStore } from './configured-store.ts'
import { createLog } from './log/log.ts'

const log = createLog({ level: 'silent' })
const home = mkdtempSync(join(tmpdir(), 'dragoman-home-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const settings = (storage: object | string) => ({ home, storage: configSchema.parse({ storage }).storage })

async function open(storage: object | string) {
  const store = await openConfiguredStore(settings(storage), log)
  if (store === undefined) throw new Error('there is no store')
  onTestFinished(() => store.close())
  return store
}

describe('the store of a configuration', () => {
  test('is a file in the data folder', async () => {
    const store = await open({})
    const saved = response({ input: items(1) })
    await store.responses.save(saved)
    const again = await open(join(home, 'store.db'))
    expect(await again.responses.find('ann', saved.id)).toEqual(saved)
  })

  test('is not there when it is off', async () => {
    expect(await openConfiguredStore(settings('off'), log)).toBeUndefined()
    expect(describeStore(settings('off'))).toBe('off')
  })

  test('is named without its password', () => {
    const url = 'postgres://ann:secret@db.internal:5432/kept?password=secret&sslmode=require'
    expect(describeStore(settings(url))).toBe("'postgres://ann@db.internal:5432/kept'")
  })

  test('deletes what has expired when it is opened', async () => {
    const path = join(home, 'expiring.db')
    const old = response({ createdAtMs: Date.now() - 86_400_001 })
    // Without deletions, which could come after the response.
    const kept = await connectStore(settings({ database: path, ttlDays: 1 }))
    onTestFinished(() => kept?.close())
    await kept?.responses.save(old)
    const file = new SqliteFile(path)
    onTestFinished(() => file.close())
    expect(file.query('select id from responses', [])).toEqual([{ id: old.id }])
    await open({ database: path, ttlDays: 1 })
    await until(() => file.query('select id from responses', []).length === 0)
  })
})

describe('a store that cannot be opened says why, and what to do', () => {
  test('a path below a file', async () => {
    writeFileSync(join(home, 'file'), '')
    await expect(open(join(home, 'file', 'store.db'))).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringMatching(/the store '.*file\/store\.db' cannot be opened: E.*; change `storage\.database`/),
    })
  })

  test('a file of another kind', async () => {
    const path = join(home, 'notes.txt')
    writeFileSync(path, 'not a database, but notes '.repeat(100))
    await expect(open(path)).rejects.toThrow(/file is not a database; change/)
  })

  test('a store of a later version', async () => {
    const path = join(home, 'later.db')
    await open(path)
    const file = new SqliteFile(path)
    file.query("insert into dragoman_migrations (name, timestamp) values ('9999-later', '2999-01-01T00:00:00.000Z')", [])
    file.close()
    await expect(open(path)).rejects.toThrow(/written by a later version of Dragoman.*'9999-later'.*update Dragoman/)
  })

  test('a server that does not answer, without its password', async () => {
    const opening = openConfiguredStore(settings('postgres://ann:secret@127.0.0.1:1/kept'), log)
    const failure: unknown = await opening.catch((error: unknown) => error)
    const message = expect.stringMatching(/ECONNREFUSED.*; start that server, change `storage\.database`, or set it to `off`$/)
    expect(failure).toMatchObject({ code: 'invalid-request', message })
    expect(String(failure)).not.toContain('secret')
  })
})

test('a store that fails later fails the calls that need it, with a code of its own', async () => {
  const path = join(home, 'broken.db')
  const store = await open(path)
  const file = new SqliteFile(path)
  file.query('drop table response_items', [])
  file.close()
  await expect(store.responses.save(response({ input: items(1) }))).rejects.toMatchObject({
    code: 'store-unavailable',
    message: expect.stringMatching(/^the store failed: no such table.*; try again later$/),
  })
  const conversation = { id: 'conv_1', owner: 'ann', createdAtMs: 1, metadata: {} }
  await store.conversations.create(conversation, [])
  expect(await store.conversations.find('ann', 'conv_1')).toEqual(conversation)
})

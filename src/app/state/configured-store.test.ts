import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { items, response } from '../../../test/support/stored.ts'
import { configSchema } from '../../config/schema.ts'
import { SqliteFile } from '../../store/sqlite-file.ts'
import { createLog } from '../log/log.ts'
import { describeStore, openConfiguredStore } from './configured-store.ts'

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

  test('deletes what has expired every ten minutes, by a clock that was not set meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const path = join(home, 'expiring.db')
    const store = await open({ database: path, ttlDays: 1 })
    const [old, recent] = [response({ createdAtMs: Date.now() - 86_400_001 }), response({})]
    for (const one of [old, recent]) await store.responses.save(one)
    const file = new SqliteFile(path)
    onTestFinished(() => file.close())
    const ids = () => file.query('select id from responses', []).map(({ id }) => id)
    const days = 31 * 86_400_000
    vi.setSystemTime(Date.now() + days)
    vi.advanceTimersByTime(600_000)
    vi.setSystemTime(Date.now() - days)
    vi.advanceTimersByTime(600_000)
    await store.responses.find('ann', recent.id)
    expect(ids()).toHaveLength(2)
    vi.advanceTimersByTime(600_000)
    await expect.poll(ids).toEqual([recent.id])
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

  /** What a start with this store logs and throws; `waitMs`: how long it waits for the server. */
  async function failToOpen(url: string, waitMs: number) {
    const lines: string[] = []
    const noted = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } })
    const failure = await openConfiguredStore(settings(url), noted, waitMs).catch((error: unknown) => error)
    return { lines, failure }
  }

  test('a server that is not there in time, without its password', async () => {
    const { lines, failure } = await failToOpen('postgres://ann:secret@127.0.0.1:1/kept', 1200)
    const message = expect.stringMatching(/ECONNREFUSED.*; start that server, change `storage\.database`, or set it to `off`$/)
    expect(failure).toMatchObject({ code: 'invalid-request', message })
    expect(lines).toEqual([expect.stringMatching(/^waiting up to 1.2 s for PostgreSQL: .*ECONNREFUSED/)])
    expect(String(failure) + lines).not.toContain('secret')
  })

  test.each([
    ['57P03', 'the database system is starting up', 1],
    ['3D000', 'database "kept" does not exist', 0],
  ])('a server that refuses with %s, which is waited for only while it starts', async (code, text, waits) => {
    const server = createServer((socket) => {
      const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`)
      const length = Buffer.alloc(4)
      length.writeInt32BE(fields.length + length.length)
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, fields])))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { lines, failure } = await failToOpen(`postgres://ann@127.0.0.1:${port}/kept`, 300)
    expect(failure).toMatchObject({ code: 'invalid-request', message: expect.stringContaining(text) })
    expect(lines).toHaveLength(waits)
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

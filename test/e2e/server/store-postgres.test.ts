import { inspect } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLog } from '../../../src/app/log/log.ts'
import { openConfiguredStore } from '../../../src/app/state/configured-store.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { describeStoreContract } from '../../store-contract.ts'
import { describeStoreProcesses } from '../../store-processes.ts'
import { until } from '../../support/http/app.ts'
import { hasPostgres, postgresHint, postgresPassword, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { items, response } from '../../support/stored.ts'

describe.skipIf(!hasPostgres)(`a store in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let url: string
  beforeAll(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase()
  })
  afterAll(() => postgres.stop())

  describeStoreContract('PostgreSQL', (settings) => openStore({ database: { type: 'postgres', url }, ...settings }))

  test('a store works again when the database does; meanwhile, calls that need it fail with a code of their own', async () => {
    const store = await openStore({ database: { type: 'postgres', url } })
    const saved = response({ input: items(1) })
    await store.responses.save(saved)
    const failures: unknown[] = []
    await postgres.restart(async () => {
      failures.push(await store.responses.find('ann', saved.id).catch((error: unknown) => error))
    })
    expect(failures).toMatchObject([{ code: 'store-unavailable', message: expect.stringMatching(/^the store failed: .+; try/) }])
    expect(await store.responses.find('ann', saved.id)).toEqual(saved)
    await store.close()
  })

  test('a query to a database that does not answer fails after 5 s, and works again when it answers', async () => {
    const store = await openStore({ database: { type: 'postgres', url } })
    const saved = response({ input: items(1) })
    await store.responses.save(saved)
    const startMs = performance.now()
    await postgres.freeze(async () => {
      const failed = (reason: string) => ({ code: 'store-unavailable', message: `the store failed: ${reason}; try again later` })
      const find = () => store.responses.find('ann', saved.id).catch((error: unknown) => error)
      const [known, connecting] = await Promise.all([find(), find()])
      expect(known).toMatchObject(failed('it did not answer within 5 s'))
      expect(connecting).toMatchObject(failed('timeout exceeded when trying to connect'))
    })
    expect(performance.now() - startMs).toBeLessThan(15_000)
    expect(await store.responses.find('ann', saved.id)).toEqual(saved)
    await store.close()
  })

  test('a server that starts before its database waits for it', async () => {
    const lines: string[] = []
    const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } })
    const storage = configSchema.parse({ storage: url }).storage
    let opening: ReturnType<typeof openConfiguredStore> = Promise.resolve(undefined)
    await postgres.restart(async () => {
      opening = openConfiguredStore({ home: '', storage }, log)
      await until(() => lines.length > 0)
    })
    const store = await opening
    expect(lines).toEqual([expect.stringMatching(/^waiting up to 60 s for PostgreSQL: the store .* cannot be opened: /)])
    const saved = response({ input: items(1) })
    await store?.responses.save(saved)
    expect(await store?.responses.find('ann', saved.id)).toEqual(saved)
    await store?.close()
  })

  test('a refused password is not in the error', async () => {
    const opening = openStore({ database: { type: 'postgres', url: url.replace(postgresPassword, 'wrong-horse') } })
    const error: unknown = await opening.catch((failure: unknown) => failure)
    expect(inspect(error, { depth: null })).toContain('password authentication failed for user')
    expect(inspect(error, { depth: null })).not.toContain('wrong-horse')
  })

  describeStoreProcesses('PostgreSQL', {
    create: async () => ({ type: 'postgres', url: await postgres.createDatabase() }),
    query: async (database, sql) => {
      if (database.type !== 'postgres') throw new Error('this database is a file')
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      const { rows } = await client.query(sql)
      await client.end()
      return rows
    },
  })
})

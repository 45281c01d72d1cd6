import { afterAll, beforeAll, describe } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { describeStoreContract } from '../store-contract.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../support/postgres.ts'

describe.skipIf(!hasPostgres)(`a store in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let url: string
  beforeAll(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase()
  })
  afterAll(() => postgres.stop())

  describeStoreContract('PostgreSQL', (settings) => openStore({ database: { type: 'postgres', url }, ...settings }))
})

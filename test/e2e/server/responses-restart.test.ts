import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeRestarts } from '../../responses-restarts.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'

let folder: string
beforeAll(async () => {
  buildProgram()
  folder = await mkdtemp(join(tmpdir(), 'dragoman-restart-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describeRestarts('SQLite', async () => join(folder, 'store.db'))

describe.skipIf(!hasPostgres).concurrent(`in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  describeRestarts('PostgreSQL', () => postgres.createDatabase())
})

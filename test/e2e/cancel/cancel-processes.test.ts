import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { chatBody } from '../../support/http/test-server.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'

const endless = { raw: 'late', delayMs: 3_600_000 }

async function post(app: RunningApp, path: string, body: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${app.url}${path}`, { method: 'POST', headers, body })).json()
}

const cancel = (app: RunningApp, body: object) => post(app, '/api/inference/cancel', JSON.stringify(body))

describe.skipIf(!hasPostgres)(`two servers on one PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let database: string
  let apps: readonly [RunningApp, RunningApp]
  beforeAll(async () => {
    postgres = await startPostgres()
    database = await postgres.createDatabase()
    const start = () =>
      startApp({
        models: [{ id: 'm', engine: 'fake', script: 'from-request', aliases: ['default'] }],
        storage: { database },
      })
    apps = [await start(), await start()]
  })
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()))
    await postgres.stop()
  })

  /** Resolves with the reply to a request that the second server cancels. */
  async function cancelledElsewhere(keys: Record<string, string>): Promise<unknown> {
    const [here, other] = apps
    const reply = post(here, '/v1/chat/completions', chatBody(endless, keys))
    await until(async () => (await here.metric('dragoman_slots_busy{model="m"}')) === 1)
    expect(await cancel(other, keys)).toEqual({ cancelled: 1 })
    return reply
  }

  test.each<Record<string, string>>([{ cancel_id: 'c' }, { session_id: 's' }])(
    'C46: a cancel by %j reaches the one that runs the request',
    async (keys) => {
      expect(await cancelledElsewhere(keys)).toMatchObject({ choices: [{ finish_reason: 'length' }] })
    },
  )

  test('C46: a cancel that comes to one before its request comes to the other is kept there', async () => {
    const [here, other] = apps
    await cancel(other, { cancel_id: 'early' })
    // What was published before has arrived when this has.
    await cancelledElsewhere({ session_id: 'later' })
    const reply = await post(here, '/v1/chat/completions', chatBody(endless, { cancel_id: 'early' }))
    expect(reply).toMatchObject({ choices: [{ message: { content: '' }, finish_reason: 'length' }] })
  })

  test('what is no cancel, on the same channel, is ignored', async () => {
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    for (const text of ['', '{', '{"by":5}', '{"message":{"by":5}}'])
      await client.query('select pg_notify($1, $2)', ['dragoman_cancels', text])
    await client.end()
    expect(await cancelledElsewhere({ cancel_id: 'after' })).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  })

  test('C46: cancels reach each other again after the database was away; meanwhile, each server cancels its own', async () => {
    const [here, other] = apps
    await postgres.restart(async () => {
      const reply = post(here, '/v1/chat/completions', chatBody(endless, { cancel_id: 'own' }))
      await until(async () => (await here.metric('dragoman_slots_busy{model="m"}')) === 1)
      expect(await cancel(here, { cancel_id: 'own' })).toEqual({ cancelled: 1 })
      await reply
    })
    const reply = post(here, '/v1/chat/completions', chatBody(endless, { session_id: 'again' }))
    let hasEnded = false
    void reply.then(() => {
      hasEnded = true
    })
    await until(async () => {
      await cancel(other, { session_id: 'again' })
      return hasEnded
    })
    expect(here.logLines().some(({ msg }) => /did not reach other processes/.test(msg ?? ''))).toBe(true)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../test/support/http/app.ts'
import { SqliteFile } from '../store/sqlite-file.ts'

const models = [{ id: 'echo', engine: 'fake', script: 'from-request' }] as const

async function start(storage: string) {
  const app = await startApp({ models: [...models], storage })
  onTestFinished(() => app.close())
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify({ model: 'echo', ...body }) })
    const answer: { readonly id?: string } = JSON.parse(await reply.text())
    return { status: reply.status, stored: reply.headers.get('x-dragoman-stored'), body: answer }
  }
  return { url: app.url, post }
}

test('when the store fails, requests that need it say so, and others go on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-failing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const { url, post } = await start(path)
  const first = await post('/v1/responses', { input: 'one' })
  expect(first.status).toBe(200)
  const file = new SqliteFile(path)
  for (const table of ['response_items', 'response_events', 'responses']) file.query(`drop table ${table}`, [])
  file.close()

  const unavailable = { error: { code: 'store_unavailable', message: expect.stringMatching(/^the store failed: no such table/) } }
  const continued = await post('/v1/responses', { input: 'two', previous_response_id: first.body.id })
  expect(continued).toMatchObject({ status: 503, body: unavailable })
  const found = await fetch(`${url}/v1/responses/${first.body.id}`)
  expect(found.status).toBe(503)
  expect(await found.json()).toMatchObject(unavailable)
  expect(await post('/v1/responses', { input: 'two', background: true })).toMatchObject({ status: 503, body: unavailable })

  expect(await post('/v1/responses', { input: 'two' })).toMatchObject({ status: 200, stored: 'false', body: { store: false } })
  expect(await post('/v1/responses', { input: 'two', store: false })).toMatchObject({ status: 200, stored: null })
  const messages = [{ role: 'user', content: 'two' }]
  expect(await post('/v1/chat/completions', { messages })).toMatchObject({ status: 200, stored: null })
  expect(await post('/v1/chat/completions', { messages, store: true })).toMatchObject({ status: 200, stored: 'false' })

  const body = JSON.stringify({ model: 'echo', input: 'two', stream: true })
  const stream = await fetch(`${url}/v1/responses`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const events = (await stream.text())
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { store: false } })
})

test('without a store, responses are answered, and what needs one is refused', async () => {
  const { url, post } = await start('off')
  expect(await post('/v1/responses', { input: 'one' })).toMatchObject({ status: 200, body: { store: false } })
  expect((await post('/v1/responses', { input: 'two', previous_response_id: 'resp_1' })).status).toBe(400)
  expect((await post('/v1/conversations', {})).status).toBe(400)
  expect((await fetch(`${url}/v1/responses/resp_1`)).status).toBeGreaterThanOrEqual(400)
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { configSchema } from '../../config/schema.ts'
import { ApiKeyFile } from './api-key-file.ts'
import { findKeys } from './find-keys.ts'
import { createKeyDirectory } from './key-directory.ts'
import { hashApiKey } from './made-keys.ts'

type Made = { readonly id: string; readonly key: string }

let app: RunningApp | undefined
afterEach(() => app?.close())

async function start(server: Parameters<typeof startApp>[0]['server'] = { adminKey: 'sk-root' }) {
  app = await startApp({ models: [{ engine: 'fake', id: 'm', script: 'from-request' }], builtinModel: false, server })
  const { url } = app
  return async (method: string, path: string, { key = 'sk-root', body }: { key?: string; body?: unknown } = {}) => {
    const reply = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: reply.status, body: await reply.json() }
  }
}

describe('the routes of keys', () => {
  test('make a key that works at once beside the configured ones, list it without itself, and delete it', async () => {
    const ask = await start()
    const limits = { requests_per_minute: 60, tool_calls_per_minute: 9 }
    const chosen = { name: 'alice', models: ['m'], tools: ['docs'], ...limits, expires_at: '2999-01-01' }
    const { status, body } = await ask('POST', '/api/keys', { body: chosen })
    const { id, key } = body as Made
    expect([status, key]).toEqual([201, expect.stringMatching(/^sk-dragoman-/)])
    expect((await ask('GET', '/v1/models', { key })).status).toBe(200)
    expect((await ask('GET', '/api/keys', { key })).status).toBe(403)
    const { body: listed } = await ask('GET', '/api/keys')
    expect(listed).toMatchObject({
      required: true,
      keys: [
        { name: 'admin', source: 'configuration', scopes: ['inference', 'tools', 'metrics', 'admin'] },
        { id, ...chosen, expires_at: '2999-01-01T00:00:00.000Z', source: 'made', scopes: ['inference'], made_by: 'admin' },
      ],
    })
    expect(JSON.stringify(listed)).not.toContain(key)
    expect(JSON.stringify(listed)).not.toContain(hashApiKey(key))
    expect((await ask('DELETE', `/api/keys/${id}`)).body).toEqual({ id, deleted: true })
    expect((await ask('GET', '/v1/models', { key })).status).toBe(401)
  })

  test('delete no key of the configuration, and none that is not there', async () => {
    const ask = await start()
    const { body } = await ask('GET', '/api/keys')
    const { id } = (body as { keys: Made[] }).keys[0] as Made
    expect(await ask('DELETE', `/api/keys/${id}`)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('server.adminKey') } },
    })
    expect((await ask('DELETE', '/api/keys/nobody')).status).toBe(404)
  })

  test('make no second key of a name', async () => {
    const ask = await start()
    expect((await ask('POST', '/api/keys', { body: { name: 'admin' } })).status).toBe(409)
    expect((await ask('POST', '/api/keys', { body: { name: 'alice' } })).status).toBe(201)
    expect((await ask('POST', '/api/keys', { body: { name: 'alice' } })).status).toBe(409)
  })

  test.each([
    [{}, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ name: 'anyone' }, 'name'],
    [{ name: 'key-0123abcd' }, 'name'],
    [{ name: 'a', scopes: ['root'] }, 'scopes'],
    [{ name: 'a', requests_per_minute: 0 }, 'requests_per_minute'],
    [{ name: 'a', expires_at: 'soon' }, 'expires_at'],
    [{ name: 'a', expires_at: '2001-01-01' }, 'expires_at'],
  ])('refuse %j with the field', async (body, param) => {
    const ask = await start()
    const reply = await ask('POST', '/api/keys', { body })
    expect([reply.status, JSON.stringify(reply.body)]).toEqual([400, expect.stringContaining(param)])
  })

  test('of a server that asks for no key say what to do', async () => {
    const ask = await start({})
    expect((await ask('GET', '/api/keys')).body).toMatchObject({
      required: false,
      why_none: expect.stringContaining('server.adminKey'),
    })
    expect(await ask('POST', '/api/keys', { body: { name: 'a' } })).toMatchObject({ status: 409 })
  })
})

test('keys that commands have made count beside configured ones, except one with the name of a configured key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-keys-'))
  const file = new ApiKeyFile(join(folder, 'api-keys.json'))
  const made = await file.add({ scopes: ['inference'], name: 'command' })
  const shadowed = await file.add({ scopes: ['inference'], name: 'admin' })
  const { server } = configSchema.parse({ server: { adminKey: 'a-key-of-the-operator' } })
  const { apiKeys, findKey } = findKeys(server, file)
  const directory = createKeyDirectory({ made: file, configured: () => apiKeys, groups: () => [], areRequired: () => true })
  expect((await directory.list()).map(({ name, source }) => [name, source])).toEqual([
    ['admin', 'configuration'],
    ['command', 'made'],
  ])
  expect(findKey?.(hashApiKey(made))).toMatchObject({ name: 'command' })
  expect(findKey?.(hashApiKey(shadowed))).toBeUndefined()
  await rm(folder, { recursive: true })
})

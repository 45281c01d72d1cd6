import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configSchema } from '../../config/schema.ts'
import { clientKey, findKeys, openKeyFile } from './find-keys.ts'
import { hashApiKey } from './made-keys.ts'

const settings = (server: object) => configSchema.parse({ server }).server

/** The scopes of each key, by the text that has it. */
async function scopesOf(server: object, texts: readonly string[], home = '/nowhere') {
  const { apiKeys } = findKeys(settings(server), openKeyFile(home))
  expect(apiKeys).toHaveLength(texts.length)
  return texts.map((text) => {
    const found = apiKeys.find(({ hash }) => hash === hashApiKey(text))
    return [found?.name, ...(found?.scopes ?? [])].filter((scope) => scope !== 'public')
  })
}

test('a key may do what the configuration says; a plain text may only use models', async () => {
  const apiKeys = ['plain', { key: 'object' }, { key: 'm', name: 'monitoring', scopes: ['metrics', 'inference'] }]
  expect(await scopesOf({ apiKeys, adminKey: 'root' }, ['plain', 'object', 'm', 'root'])).toEqual([
    [undefined, 'inference'],
    [undefined, 'inference'],
    ['monitoring', 'metrics', 'inference'],
    ['admin', 'inference', 'tools', 'metrics', 'admin'],
  ])
})

test('loopback needs no key, unless there is one', async () => {
  expect(await scopesOf({}, [])).toEqual([])
  expect(await scopesOf({ adminKey: 'root' }, ['root'])).toHaveLength(1)
})

test('the key that a reachable server makes for itself has all scopes, also at the next start', async () => {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-keys-'))
  const start = () => findKeys(settings({ host: '0.0.0.0' }), openKeyFile(home))
  const createdKey = (await start().ensureKey?.()) ?? ''
  const again = start()
  expect(await again.ensureKey?.()).toBeUndefined()
  expect([...(again.findKey?.(hashApiKey(createdKey))?.scopes ?? [])]).toEqual([
    'public',
    'inference',
    'tools',
    'metrics',
    'admin',
  ])
})

test('a running server knows the models and the end of a key that a command makes', async () => {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-keys-'))
  const { findKey } = findKeys(settings({ host: '0.0.0.0' }), openKeyFile(home))
  const key = await openKeyFile(home).add({ scopes: ['inference'], models: ['small'], expiresAt: '2030-01-01T00:00:00.000Z' })
  expect(findKey?.(hashApiKey(key))).toEqual({
    hash: hashApiKey(key),
    scopes: new Set(['public', 'inference']),
    models: ['small'],
    expiresAtMs: Date.UTC(2030, 0),
  })
})

test('requests of this process use a key that may use models', () => {
  expect(clientKey(settings({}))).toBeUndefined()
  expect(clientKey(settings({ apiKeys: [{ key: 'm', scopes: ['metrics'] }, 'plain'] }))).toBe('plain')
  expect(clientKey(settings({ apiKeys: [{ key: 'm', scopes: ['metrics'] }], adminKey: 'root' }))).toBe('root')
})

import { existsSync, readdirSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import { openPageFiles } from '../../../app/serving/page-files.ts'
import type { PageFiles } from '../../run/deps.ts'

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const built = openPageFiles()

describe.skipIf(built === undefined)('the page (skipped where it is not built)', () => {
  const open = (more = {}) => openTestServer({ page: built as PageFiles, ...more }).app

  test('browsers get it at the address itself, with a policy that allows this server only; others get a line', async () => {
    const page = await open().inject({ url: '/', headers: html })
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers['cross-origin-opener-policy']).toBe('same-origin')
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'/,
    )
    expect(page.headers.vary).toContain('accept')
    expect(page.body).not.toMatch(/<script>|<style>|style=|(?:src|href)="(?:https?:)?\/\//)
    const text = await open().inject({ url: '/' })
    expect(text.headers['content-type']).toBe('text/plain; charset=utf-8')
  })

  test('what it loads has relative addresses, and is kept by browsers', async () => {
    const app = open()
    const { body } = await app.inject({ url: '/', headers: html })
    const names = Array.from(body.matchAll(/(?:src|href)="\.\/(page\/[^"]+)"/g), ([, name]) => name)
    expect(names.length).toBeGreaterThan(1)
    for (const name of names) {
      const { statusCode, headers } = await app.inject({ url: `/${name}` })
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect((await app.inject({ url: `/${name}`, headers: { 'if-none-match': String(headers.etag) } })).statusCode).toBe(304)
    }
  })

  test.each([
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', undefined],
  ])('a client that accepts %s gets %s', async (accepted, encoding) => {
    const app = open()
    const plain = await app.inject({ url: '/', headers: html })
    const reply = await app.inject({ url: '/', headers: { ...html, 'accept-encoding': accepted } })
    expect(reply.headers['content-encoding']).toBe(encoding)
    if (encoding === 'gzip') expect(gunzipSync(reply.rawPayload).toString()).toBe(plain.body)
  })

  test('below a base path its addresses are those below it, also without the last slash', async () => {
    const { body } = await open({ basePath: '/llm' }).inject({ url: '/llm', headers: html })
    expect(body).toContain('<base href="/llm/">')
  })

  test('a name that it does not have is refused, also one that climbs', async () => {
    for (const name of ['none.js', '..%2f..%2fpackage.json', '..%2findex.html']) {
      expect((await open().inject({ url: `/page/${name}` })).statusCode, name).toBe(404)
    }
  })

  test('what it loads before the chat is there is at most 100 kB compressed', async () => {
    const app = open()
    const { body } = await app.inject({ url: '/', headers: html })
    const seen = new Map<string, number>()
    const follow = async (name: string) => {
      if (seen.has(name)) return
      const { rawPayload } = await app.inject({ url: `/page/${name}`, headers: { 'accept-encoding': 'gzip' } })
      seen.set(name, rawPayload.byteLength)
      const text = gunzipSync(rawPayload).toString()
      const imports = /(?:\bfrom|\bimport)\s*["'`]\.\/([^"'`]+)["'`]|\bimport\(["'`]\.\/(chat-[^"'`]+)["'`]\)/g
      for (const [, needed, chat = ''] of text.matchAll(imports)) await follow(needed ?? chat)
    }
    for (const [, name = ''] of body.matchAll(/\.\/page\/([^"]+)"/g)) await follow(name)
    const total = [...seen.values()].reduce((sum, bytes) => sum + bytes, 0)
    expect([...seen.keys()].filter((name) => /^(chat|index|style)-/.test(name))).toHaveLength(3)
    expect(total).toBeLessThan(100_000)
  })

  test('its fonts are sent as they are: they are compressed', async () => {
    const name = readdirSync('dist/page/page').find((each) => each.endsWith('.woff2'))
    const { headers, rawPayload } = await open().inject({ url: `/page/${name}`, headers: { 'accept-encoding': 'br' } })
    expect(headers).toMatchObject({ 'content-type': 'font/woff2', 'cache-control': expect.stringContaining('immutable') })
    expect(headers['content-encoding']).toBeUndefined()
    expect(rawPayload.subarray(0, 4).toString()).toBe('wOF2')
  })
})

test('without the page, browsers get a line that the server runs', async () => {
  const { app } = openTestServer()
  expect((await app.inject({ url: '/', headers: html })).body).toContain('Dragoman 1.2.3 is running.')
  expect((await app.inject({ url: '/page/index.js' })).statusCode).toBe(404)
})

test('a folder without a built page has none', () => {
  expect(openPageFiles('/nowhere/')).toBeUndefined()
  expect(existsSync('/nowhere/')).toBe(false)
})

describe('GET /api/caller', () => {
  const keyOf = (text: string, scope: 'metrics' | 'inference') => ({
    hash: hashApiKey(text),
    name: text,
    scopes: new Set([scope]),
  })

  test('says whose key it is and what it allows, for every scope', async () => {
    const apiKeys = [keyOf('sk-watcher', 'metrics'), { ...keyOf('sk-reader', 'inference'), models: ['org/fake'] }]
    const { app } = openTestServer({ auth: { apiKeys } })
    const ask = async (key: string) =>
      (await app.inject({ url: '/api/caller', headers: { authorization: `Bearer ${key}` } })).json()
    expect(await ask('sk-watcher')).toEqual({ id: 'sk-watcher', scopes: ['metrics'] })
    expect(await ask('sk-reader')).toEqual({ id: 'sk-reader', scopes: ['inference'], models: ['org/fake'] })
    expect((await app.inject({ url: '/api/caller' })).statusCode).toBe(401)
  })

  test('without keys, everyone may do everything', async () => {
    const { app } = openTestServer()
    expect((await app.inject({ url: '/api/caller' })).json()).toEqual({
      id: 'anyone',
      scopes: ['inference', 'tools', 'metrics', 'admin'],
    })
  })
})

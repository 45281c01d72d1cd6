import { describe, expect, test } from 'vitest'
import { chatBody, openTestServer, type TestServerOptions } from '../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import { allScopes } from '../../contract/principal.ts'
import { createCrossOrigin } from './cross-origin.ts'

const page = 'https://chat.example.com'
const evil = 'https://evil.example'
const chat = { method: 'POST', url: '/v1/chat/completions' } as const
const json = { 'content-type': 'application/json' }

function create(options: Partial<TestServerOptions> = {}) {
  return openTestServer({ allowedOrigins: [page], ...options }).app
}

function corsHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name === 'vary' || name.startsWith('access-control')))
}

test.each([
  ['chrome-extension://*', 'chrome-extension://abc', true],
  ['chrome-extension://*', 'https://chrome-extension', false],
  ['http://localhost:*', 'http://localhost:5173', true],
  ['http://localhost:*', 'http://localhost.evil.example:1', false],
  ['https://*.example.com', 'https://chat.example.com', true],
  ['https://*.example.com', 'https://chat.exampleXcom', false],
  ['https://*.example.com', 'https://evil.example/x.example.com', false],
])('with %s, a page of %s may ask: %s', (allowed, origin, expected) => {
  const ask = () => createCrossOrigin([allowed]).check('POST', { origin, host: 'localhost:7411' })
  if (expected) expect(ask).not.toThrow()
  else expect(ask).toThrow('are not allowed')
})

describe('a page of a program', () => {
  const preflight = (origin: string, host: string) =>
    openTestServer({ hosts: { hostname: 'workshop', allowedHosts: ['*'] } }).app.inject({
      method: 'OPTIONS',
      url: chat.url,
      headers: { origin, host, 'access-control-request-method': 'POST', 'sec-fetch-site': 'cross-site' },
    })

  test.each(['app://obsidian.md', 'vscode-webview://1a2b', 'chrome-extension://abc', 'tauri://localhost'])(
    'such as %s may ask a server on loopback',
    async (origin) => {
      for (const host of ['localhost:7411', '127.0.0.1:7411', '[::1]']) {
        const { statusCode, headers } = await preflight(origin, host)
        expect([statusCode, headers['access-control-allow-origin'], headers.vary]).toEqual([204, origin, 'origin'])
      }
      expect((await preflight(origin, 'models.example.com')).statusCode).toBe(403)
    },
  )

  test.each(['https://evil.example', 'null', 'file://', 'http://app', 'app://a/b'])('%s is none', async (origin) => {
    expect((await preflight(origin, 'localhost:7411')).statusCode).toBe(403)
  })
})

describe('an allowed page', () => {
  const granted = { vary: 'origin', 'access-control-allow-origin': page, 'access-control-expose-headers': '*' }

  test.each([true, false])('may read replies (stream: %s)', async (stream) => {
    const response = await create().inject({ ...chat, headers: { ...json, origin: page }, payload: chatBody('hi', { stream }) })
    expect([response.statusCode, corsHeaders(response.headers)]).toEqual([200, granted])
  })

  test('may read why it was refused', async () => {
    const app = create({ auth: { apiKeys: [{ hash: hashApiKey('k'), scopes: allScopes }] } })
    for (const [request, status] of [
      [{ ...chat, headers: { ...json, origin: page }, payload: chatBody('hi') }, 401],
      [{ url: '/v1/nothing', headers: { origin: page } }, 404],
      [{ method: 'PUT', url: '/v1/models', headers: { origin: page } }, 405],
    ] as const) {
      const response = await app.inject(request)
      expect([response.statusCode, corsHeaders(response.headers)]).toEqual([status, granted])
    }
  })

  test('may send its key and any other header, by a preflight without a key', async () => {
    const response = await create({ auth: { apiKeys: [{ hash: hashApiKey('k'), scopes: allScopes }] } }).inject({
      method: 'OPTIONS',
      url: chat.url,
      headers: {
        origin: page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
      },
    })
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect(corsHeaders(response.headers)).toEqual({
      ...granted,
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'authorization, *',
      'access-control-max-age': '7200',
    })
  })

  test('is any page when all are allowed, without `vary`', async () => {
    const response = await create({ allowedOrigins: ['*'] }).inject({ url: '/v1/models', headers: { origin: evil } })
    expect(corsHeaders(response.headers)).toEqual({ 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' })
  })
})

describe('a page that is not allowed', () => {
  const preflight = {
    method: 'OPTIONS',
    url: chat.url,
    headers: { origin: evil, 'access-control-request-method': 'POST' },
  } as const

  test('gets no permission', async () => {
    for (const app of [create(), create({ allowedOrigins: [] })]) {
      for (const request of [preflight, { url: '/v1/models', headers: { origin: evil } }]) {
        const { headers } = await app.inject(request)
        expect(Object.keys(corsHeaders(headers)).filter((name) => name !== 'vary')).toEqual([])
      }
    }
  })

  test.each([
    ['a POST without a body, which asks no permission', { method: 'POST', url: '/v1/sampling/override/unload' }],
    ['a chat', { ...chat, payload: chatBody('hi') }],
    ['the preflight of a chat, which names the setting', { ...preflight }],
  ] as const)('cannot make its browser send %s', async (_, request) => {
    const response = await create().inject({
      ...request,
      headers: { ...('headers' in request && request.headers), ...('payload' in request && json), origin: evil },
    })
    expect([response.statusCode, response.json()]).toMatchObject([
      403,
      { error: { code: 'origin_not_allowed', message: expect.stringMatching(/evil\.example.*server\.allowedOrigins/) } },
    ])
  })
})

describe('detection of cross-origin requests', () => {
  const { check } = createCrossOrigin([page])
  const host = 'LLM.example.com:7411'
  const refused = expect.objectContaining({ code: 'origin-not-allowed' })

  test.each([
    ['no browser at all', { host }],
    ['a page of this server', { host, origin: 'http://llm.example.com:7411' }],
    ['a page of this server behind a proxy that changes the host', { host, origin: evil, 'sec-fetch-site': 'same-origin' }],
    ['an address typed in', { host, 'sec-fetch-site': 'none' }],
    ['an allowed page', { host, origin: page, 'sec-fetch-site': 'cross-site' }],
  ] as const)('not %s', (_, headers) => {
    expect(() => check('POST', headers)).not.toThrow()
  })

  test.each([
    ['another host', { host, origin: evil }],
    ['another port', { host, origin: 'http://llm.example.com:3000' }],
    ['a sandboxed frame or a file', { host, origin: 'null' }],
    ['another site', { host, 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { host, origin: 'http://www.example.com', 'sec-fetch-site': 'same-site' }],
  ] as const)('%s', (_, headers) => {
    expect(() => check('POST', headers)).toThrow(refused)
    expect(() => check('DELETE', headers)).toThrow(refused)
    expect(() => check('GET', headers)).not.toThrow()
  })
})

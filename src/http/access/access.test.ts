import { once } from 'node:events'
import { get } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { chatBody, openTestServer } from '../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import type { Scope } from '../../contract/principal.ts'
import { allScopes } from '../../contract/principal.ts'

const key = 'sk-dragoman-test'
const webSocket = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const chat = { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' } } as const

function logged(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line))
}

describe('authentication', () => {
  const locked = () => openTestServer({ auth: { apiKeys: [{ hash: hashApiKey(key), scopes: allScopes }] } })

  test.each(['/v1/models', '/metrics'])('%s needs a key when keys are configured', async (url) => {
    const { app, logLines } = locked()
    const refused = await app.inject({ url, headers: { authorization: 'Bearer wrong' } })
    expect(refused.statusCode).toBe(401)
    expect(refused.headers['www-authenticate']).toBe('Bearer')
    expect(refused.json()).toMatchObject({
      error: { code: 'invalid_api_key', message: expect.stringContaining('x-api-key: KEY') },
    })
    expect((await app.inject({ url, headers: { authorization: `Bearer ${key}` } })).statusCode).toBe(200)
    expect((await app.inject({ url, headers: { 'x-api-key': key } })).statusCode).toBe(200)
    expect(logLines.join('')).not.toContain(key)
  })

  test('a key may do what its scopes say, and the refusal names the scope', async () => {
    const keyOf = (text: string, ...scopes: Scope[]) => ({ hash: hashApiKey(text), scopes: new Set(scopes) })
    const { app } = openTestServer({
      auth: { apiKeys: [keyOf('c', 'inference'), keyOf('m', 'metrics'), keyOf('a', 'admin')] },
    })
    const statusOf = async (method: 'GET' | 'POST', url: string, text: string) =>
      (await app.inject({ method, url, headers: { 'x-api-key': text } })).statusCode
    for (const [method, url, client, monitor, admin] of [
      ['GET', '/v1/models', 200, 403, 200],
      ['GET', '/v1/sampling/overrides', 200, 403, 200],
      ['GET', '/metrics', 403, 200, 200],
      ['POST', '/v1/sampling/override/unload', 403, 403, 200],
      ['POST', '/v1/sampling/override/switch', 403, 403, 400],
      ['POST', '/v1/template/unload', 403, 403, 200],
      ['POST', '/v1/template/switch', 403, 403, 400],
    ] as const) {
      const statuses = [await statusOf(method, url, 'c'), await statusOf(method, url, 'm'), await statusOf(method, url, 'a')]
      expect([url, ...statuses]).toEqual([url, client, monitor, admin])
    }
    const refused = await app.inject({ method: 'POST', url: '/v1/template/unload', headers: { 'x-api-key': 'c' } })
    expect(refused.json().error).toMatchObject({ code: 'forbidden', message: expect.stringContaining("'admin'") })
  })

  test('without a key the body is not read', async () => {
    const response = await locked().app.inject({ ...chat, payload: '{' })
    expect(response.statusCode).toBe(401)
  })

  test.each(['/health', '/ready'])('%s is public', async (url) => {
    expect((await locked().app.inject(url)).statusCode).not.toBe(401)
  })

  test('an unknown host name is refused without keys, by name, except for probes', async () => {
    const { app } = openTestServer()
    for (const url of ['/', '/v1/models', '/metrics', '/nothing']) {
      const response = await app.inject({ url, headers: { host: 'evil.example:7411' } })
      expect(response.statusCode).toBe(403)
      expect(response.json()).toMatchObject({
        error: { code: 'host_not_allowed', message: expect.stringMatching(/evil\.example.*server\.allowedHosts/) },
      })
    }
    for (const url of ['/health', '/api/health', '/ready'])
      for (const host of ['dragoman:7411', 'evil.example', '[::1]:7411', ''])
        expect([url, host, (await app.inject({ url, headers: { host } })).statusCode]).not.toEqual([url, host, 403])
  })

  test('where a key is required, every host name will do', async () => {
    const { app, setAccess, deps } = locked()
    const statusOf = async (url: string, more = {}) =>
      (await app.inject({ url, headers: { host: 'dragoman:7411', ...more } })).statusCode
    expect([await statusOf('/v1/models'), await statusOf('/v1/models', { 'x-api-key': key })]).toEqual([401, 200])
    setAccess({ ...deps, auth: { apiKeys: [], findKey: () => undefined } })
    expect(await statusOf('/v1/models')).toBe(401)
    setAccess({ ...deps, auth: { apiKeys: [] } })
    expect(await statusOf('/v1/models')).toBe(403)
  })

  test('a WebSocket is checked like any other request', async () => {
    const upgrade = async (server: ReturnType<typeof openTestServer>, headers: Record<string, string>) => {
      const port = await server.listen()
      const request = get({ port, host: '127.0.0.1', path: '/v1/responses', headers: { ...webSocket, ...headers } })
      const [{ statusCode, socket }] = await Promise.race([once(request, 'response'), once(request, 'upgrade')])
      socket.destroy()
      return statusCode
    }
    expect(await upgrade(openTestServer(), { host: 'evil.example' })).toBe(403)
    expect(await upgrade(openTestServer(), { host: 'localhost' })).toBe(101)
    expect(await upgrade(locked(), { host: 'dragoman' })).toBe(401)
    expect(await upgrade(locked(), { host: 'dragoman', 'x-api-key': key })).toBe(101)
  })

  test('two host headers are refused, even if both are allowed', async () => {
    const { listen } = openTestServer()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text).toContain("has 2 'host' headers")
  })

  test('HTTP/1.0 without a host is served', async () => {
    const { listen } = openTestServer()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('GET /health HTTP/1.0\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  })
})

describe('request ids', () => {
  test.each(['trace-42', '!', 'x'.repeat(128), 'with space'])('the caller’s id %j is echoed and logged', async (id) => {
    const { app, logLines } = openTestServer()
    const response = await app.inject({ url: '/v1/models', headers: { 'x-request-id': id } })
    expect(response.headers['x-request-id']).toBe(id)
    expect(logged(logLines)).toContainEqual(expect.objectContaining({ requestId: id, route: '/v1/models', status: 200 }))
  })

  test.each(['', 'x'.repeat(129), 'é'])('%j is replaced by one of ours', async (id) => {
    const response = await openTestServer().app.inject({ url: '/v1/models', headers: { 'x-request-id': id } })
    expect(response.headers['x-request-id']).toMatch(/^req_[\da-f]{32}$/)
  })

  test('it is on streams and replies, and is never the id of the generation', async () => {
    const { app } = openTestServer()
    for (const stream of [true, false]) {
      const headers = { ...chat.headers, 'x-request-id': 'mine' }
      const responses = await Promise.all([1, 2].map(() => app.inject({ ...chat, headers, payload: chatBody('hi', { stream }) })))
      expect(responses.map((response) => [response.statusCode, response.headers['x-request-id']])).toEqual([
        [200, 'mine'],
        [200, 'mine'],
      ])
      expect(responses[0]?.body).toMatch(/"id":"chatcmpl-/)
    }
  })
})

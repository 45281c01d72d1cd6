import { expect, test } from 'vitest'
import { redactBody, redactHeaders, redactUrl } from './redact.ts'

test('headers keep their names, and secrets have no value', () => {
  const secrets = [
    'authorization',
    'x-api-key',
    'x-admin-key',
    'api-key',
    'cookie',
    'proxy-authorization',
    'x-llamastack-provider-data',
  ]
  const headers = { ...Object.fromEntries(secrets.map((name) => [name, 'sk-1'])), accept: '*/*', 'x-request-id': 'r' }
  expect(redactHeaders(headers)).toEqual({
    ...Object.fromEntries(secrets.map((name) => [name, '***'])),
    accept: '*/*',
    'x-request-id': 'r',
  })
})

test('fields that hold secrets have no value, at any depth', () => {
  const body = {
    model: 'm',
    max_tokens: 5,
    hf_token: 'hf_1',
    token: 'hf_2',
    stop_token_ids: [1],
    tools: [
      {
        type: 'mcp',
        server_url: 'https://user:pass@host/mcp',
        authorization: 'sk-1',
        headers: { 'X-Api-Key': 'sk-2', Cookie: 'id=3', accept: '*/*' },
      },
    ],
    mcp_servers: [{ type: 'url', authorization_token: 'sk-4' }],
    messages: [{ role: 'user', content: 'my token is short: a:b@c' }],
  }
  expect(redactBody(body)).toEqual({
    ...body,
    hf_token: '***',
    token: '***',
    tools: [
      {
        type: 'mcp',
        server_url: 'https://user:***@host/mcp',
        authorization: '***',
        headers: { 'X-Api-Key': '***', Cookie: '***', accept: '*/*' },
      },
    ],
    mcp_servers: [{ type: 'url', authorization_token: '***' }],
  })
})

test.each([
  ['another spelling', { accessToken: 'a', 'api-key': 'b', API_KEY: 'c', bearer: 'd', private_key: 'e', ClientSecret: 'f' }],
  ['an object', { authorization: { value: 'a' }, credentials: { user: 'b', tokens: ['c'] } }],
])('fields that hold secrets in %s', (_, body) => {
  expect(JSON.stringify(redactBody(body))).not.toMatch(/"[a-f]"[,\]}]/)
})

test('fields that only describe a secret, or have a name like one, stay', () => {
  const parameters = { type: 'object', properties: { password: { type: 'string' }, token: { type: 'string' } } }
  const thinking = { type: 'thinking', thinking: 'so', signature: 'c2ln' }
  const body = { max_tokens: 1, tokens: 'all', tools: [{ function: { parameters } }], messages: [{ content: [thinking] }] }
  expect(redactBody(body)).toEqual(body)
})

test('URLs in texts and headers have no secrets', () => {
  const url = (secret: string) => `https://u:${secret}@host/mcp?page=2&token=${secret}&api_key=${secret}#access_token=${secret}`
  const body = (secret: string) => ({
    server_url: url(secret),
    messages: [{ content: `see "${url(secret)}" and <${url(secret)}>` }],
  })
  expect(redactBody(body('s'))).toEqual(body('***'))
  expect(redactHeaders({ referer: url('s'), 'x-auth': 's' })).toEqual({ referer: url('***'), 'x-auth': '***' })
})

test.each(['access-token', '%6bey', 'sig', 'X-Amz-Signature', 'X-Goog-Credential', 'ACCESSTOKEN'])(
  'the parameter %s of a URL has no value',
  (name) => {
    expect(redactUrl(`/v1/models?a=1&${name}=secret`)).toBe(`/v1/models?a=1&${name}=***`)
  },
)

test('a name of a parameter that cannot be decoded stays', () => {
  expect(redactUrl('/v1/models?%e0=1')).toBe('/v1/models?%e0=1')
})

test('a text of many question marks takes no longer than another', () => {
  const text = `http://a/${'?'.repeat(300_000)}`
  expect(redactBody({ text })).toEqual({ text })
  expect(redactUrl('/a?b?token=c')).toBe('/a?b?token=***')
})

test('parameters of a URL that hold secrets have no value', () => {
  expect(redactUrl('/v1/models?key=abc&limit=5&api_key=x')).toBe('/v1/models?key=***&limit=5&api_key=***')
  expect(redactUrl('/v1/models')).toBe('/v1/models')
  expect(redactUrl('/v1/models?after=a?b&key&limit=a=b')).toBe('/v1/models?after=a?b&key&limit=a=b')
})

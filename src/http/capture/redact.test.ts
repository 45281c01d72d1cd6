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

test('parameters of a URL that hold secrets have no value', () => {
  expect(redactUrl('/v1/models?key=abc&limit=5&api_key=x')).toBe('/v1/models?key=***&limit=5&api_key=***')
  expect(redactUrl('/v1/models')).toBe('/v1/models')
  expect(redactUrl('/v1/models?after=a?b&key&limit=a=b')).toBe('/v1/models?after=a?b&key&limit=a=b')
})

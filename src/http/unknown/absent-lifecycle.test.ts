import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import type { Bus } from '../../contract/server/shared.ts'

const siblings: Bus = { publish: async () => [], subscribe: async () => undefined }

describe('a server of several processes', () => {
  test.each([
    ['POST', '/api/inference/load'],
    ['POST', '/api/inference/unload'],
    ['POST', '/api/inference/validate'],
    ['GET', '/api/inference/status'],
    ['GET', '/api/inference/load-progress?x=1'],
    ['POST', '/v1/model/load'],
    ['POST', '/v1/model/unload'],
    ['POST', '/v1/model/embedding/load'],
    ['POST', '/v1/download'],
    ['GET', '/v1/loras'],
    ['GET', '/v1/lora'],
    ['POST', '/v1/lora/load'],
  ] as const)('says why it has no %s %s', async (method, url) => {
    const { app } = openTestServer({ siblings })
    const reply = await app.inject({ method, url, ...(method === 'POST' && { payload: { model_path: 'm' } }) })
    expect(reply.statusCode).toBe(404)
    expect(reply.json().error).toMatchObject({
      code: 'unknown_url',
      message: expect.stringMatching(/several processes.*server\.workers to 1/),
    })
  })

  test('has all other routes, and does not say so of those that nothing has', async () => {
    const { app } = openTestServer({ siblings })
    const body = { messages: [{ role: 'user', content: 'a b' }] }
    const generated = await app.inject({ method: 'POST', url: '/api/inference/generate/stream', payload: body })
    expect([generated.statusCode, generated.body]).toEqual([200, expect.stringContaining('"content":"a"')])
    const unknown = await app.inject({ method: 'POST', url: '/v1/model/unknown', payload: {} })
    expect([unknown.statusCode, unknown.body]).toEqual([404, expect.not.stringContaining('several processes')])
  })
})

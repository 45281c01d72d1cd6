import { expect, onTestFinished, test } from 'vitest'
import { createTestServer } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import { AppError } from '../../../contract/errors.ts'
import { allScopes } from '../../../contract/principal.ts'
import type { SessionPictures, ToolSession } from '../../../contract/server-tool.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

function serve(pictures?: SessionPictures) {
  const engine = createFakeEngine({ script: 'from-request' })
  const apiKeys = ['one', 'two'].map((name) => ({ name, hash: hashApiKey(`sk-${name}`), scopes: allScopes }))
  const { app } = createTestServer({ engine, auth: { apiKeys }, ...(pictures !== undefined && { pictures }) })
  onTestFinished(() => app.close())
  return (path: string, key = 'one') =>
    app.inject({ url: `/api/inference/sandbox/${path}`, headers: { authorization: `Bearer sk-${key}` } })
}

test('a picture is shown to the key whose session it is, never kept, and never as anything else', async () => {
  const asked: [ToolSession, string][] = []
  const get = serve({
    picture: async (session, name) => {
      asked.push([session, name])
      return { mediaType: 'image/png', bytes: Buffer.from('bytes') }
    },
  })
  const reply = await get('my%2Fsession/plot%201.png', 'two')
  expect(reply).toMatchObject({ statusCode: 200, body: 'bytes' })
  expect(reply.headers).toMatchObject({
    'content-type': 'image/png',
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  })
  await get('my%2Fsession/plot%201.png')
  const [[ofTwo] = [], [ofOne] = []] = asked
  expect(asked.map(([{ id }, name]) => [id, name])).toEqual([
    ['my/session', 'plot 1.png'],
    ['my/session', 'plot 1.png'],
  ])
  expect(ofTwo?.principalId).not.toBe(ofOne?.principalId)
})

test.each([
  ['forbidden', 403],
  ['not-found', 404],
] as const)('what is %s has the status %i', async (code, statusCode) => {
  const get = serve({
    picture: async () => {
      throw new AppError(code, 'why')
    },
  })
  const reply = await get('s/a.txt')
  expect(reply.statusCode).toBe(statusCode)
  expect(reply.json().error.message).toContain('why')
})

test('without a key, and on a server without such tools, there are none', async () => {
  expect((await serve()('s/a.png')).statusCode).toBe(404)
  expect((await serve()('s/a.png', 'unknown')).statusCode).toBe(401)
})

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/support/app.ts'
import { listenOnLoopback } from '../../../../test/support/loopback.ts'
import { messageOf, textBlock } from '../../../../test/support/messages-stream.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import { answer, ask, engineOver, secretKey, upstream } from '../../../../test/support/remote-engine.ts'

test('a server of unknown kind that lacks chat completions is spoken to in Messages', async () => {
  const server = await upstream((request, response) => {
    if (request.path !== '/v1/messages') refuse(response, 404)
    else if (request.body.messages === undefined) refuse(response, 400)
    else return messageOf(textBlock(0, 'ok'))(request, response)
  })
  const engine = engineOver([server], { probesAbilities: true })
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  expect(textsOf(await answer(engine, ask('hi again')))).toEqual(['ok'])
  // Asked once, and without a message, so that nothing is generated.
  const asked = server.seen.filter(({ body }) => body.messages === undefined)
  expect(asked.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses', '/v1/messages'])
})

test('Anthropic gets its key in its own header, and the version of its API', async () => {
  const seen: IncomingHttpHeaders[] = []
  const { origin, close } = await listenOnLoopback((request, response) => {
    if (request.headers['x-api-key'] !== secretKey) return refuse(response, 401)
    seen.push(request.headers)
    const data = [{ type: 'model', id: 'm', display_name: 'M' }]
    if (request.method === 'GET') return void response.end(JSON.stringify({ data }))
    return messageOf(textBlock(0, 'ok'))({ method: 'POST', path: '/v1/messages', body: {} }, response)
  })
  onTestFinished(close)
  const engine = engineOver([], { endpoints: [{ url: `${origin}/v1`, weight: 1, apiKey: secretKey }] })
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  await until(() => seen.length >= 2)
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ found: { kind: 'anthropic' } }])
  for (const headers of seen) {
    expect(headers).toMatchObject({ 'anthropic-version': '2023-06-01' })
    expect(headers.authorization).toBeUndefined()
  }
})

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message: 'no' } }))
}

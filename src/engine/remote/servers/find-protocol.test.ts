import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import { listenOnLoopback } from '../../../../test/support/upstream/loopback.ts'
import { messageOf, textBlock } from '../../../../test/support/upstream/messages-stream.ts'
import { answer, ask, engineOver, knownEngine, secretKey, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, openStream } from '../../../../test/support/upstream/upstream.ts'

test('a server of unknown kind that lacks chat completions is spoken to in Messages', async () => {
  const server = await upstream((request, response) => {
    if (request.path !== '/v1/messages') refuse(response, 404)
    else if (request.body.messages === undefined) refuse(response, 400)
    else return messageOf(textBlock(0, 'ok'))(request, response)
  })
  const engine = engineOver([server], { probesAbilities: true })
  expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  expect(textsOf(await answer(engine, ask('hi again')))).toEqual(['ok'])
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ found: { kind: 'openai', protocol: 'messages' } }])
  // Asked once, and without a message, so that nothing is generated.
  const asked = server.seen.filter(({ body }) => body.messages === undefined)
  expect(asked.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses', '/v1/messages'])
})

test('replicas of one model may speak different protocols: one continues what another began', async () => {
  const breaking: Answer = (_, response) => {
    openStream(response)
    response.write(chatChunk({ delta: { content: 'One ' } }), () => response.destroy())
  }
  const first = await upstream(breaking, { ownedBy: 'vllm' })
  const second = await upstream((request, response) => {
    if (request.path !== '/v1/messages') return refuse(response, 404)
    if (request.body.messages === undefined) return refuse(response, 400)
    const words = JSON.stringify(request.body.messages).includes('One ') ? 'two' : 'One two'
    return messageOf(textBlock(0, words))(request, response)
  })
  const engine = await knownEngine([first, second], { probesAbilities: true })
  for (let turn = 0; turn < 4; turn++) expect(textsOf(await answer(engine, ask(`hi ${turn}`)))).toEqual(['One two'])
  expect(first.seen.length).toBeGreaterThan(0)
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

test('a Dragoman that is spoken to in Messages is known as one, and Anthropic as Anthropic', async () => {
  const kindOf = async (get: (headers: IncomingHttpHeaders) => object | undefined) => {
    const server = await upstream(messageOf(textBlock(0, 'ok')))
    server.get = (path, response, headers) => {
      const entry = path === '/v1/models' ? get(headers ?? {}) : undefined
      if (entry === undefined) response.writeHead(path === '/v1/models' ? 401 : 404).end()
      else response.end(JSON.stringify({ data: [{ id: 'up', ...entry }] }))
      return true
    }
    const engine = await knownEngine([server], { protocol: 'messages' })
    return engine.capabilities.fleet?.replicas()[0]?.found?.kind
  }
  const anthropic = { type: 'model' }
  const dragoman = { object: 'model', owned_by: 'dragoman', state: 'ready', aliases: [] }
  expect(await kindOf((headers) => (headers['anthropic-version'] === undefined ? dragoman : anthropic))).toBe('dragoman')
  expect(await kindOf((headers) => (headers['x-api-key'] === undefined ? undefined : anthropic))).toBe('anthropic')
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { png, wav } from '../../support/pictures.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const source = 'builtin:dragoman-tiny.gguf'
const server = { engine: 'llama-server' as const, binary: llamaServerBinary ?? '', source, contextLength: 1024, threads: 1 }

/** What a model cannot read is refused by its type, without a request to its address. */
describe.skipIf(llamaServerBinary === undefined)(`media that a model cannot read${llamaServerHint}`, () => {
  let app: RunningApp
  let outside: Awaited<ReturnType<typeof listenOnLoopback>>
  let upstream: Awaited<ReturnType<typeof listenOnLoopback>>
  let hits = 0

  beforeAll(async () => {
    outside = await listenOnLoopback(({ url }, response) => {
      hits += 1
      response.end(url === '/a.wav' ? wav(1) : png([255, 0, 0]))
    })
    upstream = await listenOnLoopback((_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data: [{ id: 'remote' }] }))
    })
    const endpoints = [{ url: `${upstream.origin}/v1` }]
    const remote = { engine: 'remote' as const, endpoints, upstreamModel: 'remote', server: 'openai' as const, probe: false }
    app = await startApp({
      builtinModel: false,
      media: { allowedAddresses: ['127.0.0.1'], cacheBytes: 0 },
      models: [
        { engine: 'llama', id: 'embedded', source, mmproj: 'none', contextLength: 1024, threads: 1, load: 'demand' as const },
        { ...server, id: 'blind', mmproj: 'none', load: 'demand' as const },
        { ...server, id: 'seeing', mmproj: 'builtin:dragoman-tiny-mmproj.gguf' },
        { ...remote, id: 'texts', protocol: 'completions' },
        { ...remote, id: 'chats' },
      ],
    })
  })
  afterAll(async () => {
    await app?.close()
    await outside?.close()
    await upstream?.close()
  })

  const inChat = (model: string, part: object) => ({ model, messages: [{ role: 'user', content: [part] }] })
  const picture = (model: string, url: string): readonly (readonly [path: string, body: object])[] => [
    ['/v1/chat/completions', inChat(model, { type: 'image_url', image_url: { url } })],
    ['/v1/responses', { model, input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }],
    ['/v1/messages', { max_tokens: 5, ...inChat(model, { type: 'image', source: { type: 'url', url } }) }],
    ['/v1/messages/count_tokens', inChat(model, { type: 'image', source: { type: 'url', url } })],
    [
      '/v1/inference/chat-completion',
      { model_id: model, messages: [{ role: 'user', content: { type: 'image', image: { url: { uri: url } } } }] },
    ],
  ]
  const send = async ([path, body]: readonly [path: string, body: object]) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, text: await reply.text() }
  }

  test.each([
    ['embedded', /mmproj: none/],
    ['blind', /mmproj: none/],
    ['texts', /as text/],
  ])('%s: a picture, in each protocol', async (model, reason) => {
    const before = hits
    for (const request of picture(model, `${outside.origin}/a.png`)) {
      const { status, text } = await send(request)
      expect({ path: request[0], status, text }).toMatchObject({ status: 400, text: expect.stringMatching(reason) })
    }
    expect(hits).toBe(before)
  })

  test('seeing: what is not a picture', async () => {
    const before = hits
    const sound = inChat('seeing', { type: 'audio_url', audio_url: { url: `${outside.origin}/a.wav` } })
    expect((await send(['/v1/chat/completions', sound])).status).toBe(400)
    expect(hits).toBe(before)
  })

  test('what a model reads is fetched', async () => {
    const before = hits
    const { status } = await send([
      '/v1/chat/completions',
      inChat('seeing', { type: 'image_url', image_url: `${outside.origin}/a.png` }),
    ])
    expect(status).toBe(200)
    expect(hits).toBe(before + 1)
  })
})

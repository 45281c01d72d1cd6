import OpenAI, { type APIError, toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { writeWav } from '../../../src/base/wav.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'
import { type Answer, type ScriptedUpstream, startUpstream } from '../../support/upstream/upstream.ts'

/** All bytes there are, and what ends a part of a form. */
const sound = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), Buffer.from('\r\n--\r\n"x"\r\n')])
const silence = writeWav(Buffer.alloc(0), { frameBytes: 2, framesPerSecond: 24_000 })
const keys = [
  { name: 'user', key: 'sk-user-0123456789abcdef' },
  { name: 'reader', key: 'sk-reader-0123456789abcdef', scopes: ['metrics' as const] },
]

function saying(body: string | Buffer, contentType: string, status = 200): Answer {
  return (_, response) => void response.writeHead(status, { 'content-type': contentType }).end(body)
}

const asJson = (value: unknown, status?: number) => saying(JSON.stringify(value), 'application/json', status)

describe('sound and pictures, passed on', () => {
  let upstream: ScriptedUpstream
  let app: RunningApp
  let client: OpenAI

  beforeAll(async () => {
    upstream = await startUpstream(asJson({}))
    const services = ['speech', 'transcription', 'translation', 'images'] as const
    app = await startApp({
      server: { apiKeys: keys, bodyLimitBytes: 100_000 },
      models: [
        {
          engine: 'remote',
          id: 'studio',
          aliases: ['tts-1', 'whisper-1'],
          endpoints: [{ url: upstream.url }],
          server: 'openai',
          upstreamModel: 'up',
          probe: false,
          services: [...services],
        },
        {
          engine: 'remote',
          id: 'plain',
          endpoints: [{ url: upstream.url }],
          server: 'openai',
          upstreamModel: 'up',
          probe: false,
        },
        { engine: 'fake', id: 'scripted', script: 'from-request' },
      ],
    })
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'sk-user-0123456789abcdef', maxRetries: 0 })
  })
  beforeEach(() => {
    upstream.seen.length = 0
  })
  afterAll(async () => {
    await app.close()
    await upstream.close()
  })

  const speak = (more: object = {}) => client.audio.speech.create({ model: 'studio', input: 'Hi', voice: 'alloy', ...more })
  const lastSeen = () => {
    const seen = upstream.seen.at(-1)
    if (seen === undefined) return expect.unreachable('nothing was sent')
    return seen
  }
  /** The form that arrived, as the platform reads it. */
  const lastForm = () =>
    new Response(new Uint8Array(lastSeen().bytes), {
      headers: new Headers([['content-type', lastSeen().headers['content-type'] ?? '']]),
    }).formData()
  const refusal = (call: PromiseLike<unknown>): Promise<APIError> =>
    Promise.resolve(call).then(
      () => expect.unreachable('it should have failed'),
      (error: unknown) => error as APIError,
    )

  test('speech arrives byte for byte, with the type that the server says, and all fields but the model are kept', async () => {
    upstream.answer = saying(sound, 'audio/mpeg')
    const reply = await speak({ speed: 1.5, instructions: 'slowly', lang_code: 'a' })
    expect(reply.headers.get('content-type')).toBe('audio/mpeg')
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(sound)
    expect(lastSeen()).toMatchObject({ path: '/v1/audio/speech' })
    expect(lastSeen().body).toEqual({
      model: 'up',
      input: 'Hi',
      voice: 'alloy',
      speed: 1.5,
      instructions: 'slowly',
      lang_code: 'a',
    })
  })

  test('a streamed reply is passed on while it arrives', async () => {
    let finish: () => unknown = () => undefined
    upstream.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"type":"speech.audio.delta","audio":"AA=="}\n\n')
      finish = () => response.end('data: {"type":"speech.audio.done"}\n\n')
    }
    const reply = await speak({ stream_format: 'sse' })
    const reader = (reply.body ?? expect.unreachable('no body')).getReader()
    const first = await reader.read()
    expect(Buffer.from(first.value ?? []).toString()).toContain('speech.audio.delta')
    finish()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toContain('speech.audio.done')
    expect((await reader.read()).done).toBe(true)
  })

  test('a sound to transcribe arrives with its name and its other fields', async () => {
    upstream.answer = asJson({ text: 'hello' })
    const file = await toFile(sound, 'über "x".wav', { type: 'audio/wav' })
    const timestamp_granularities: ('word' | 'segment')[] = ['word', 'segment']
    const reply = await client.audio.transcriptions.create({ model: 'studio', file, language: 'de', timestamp_granularities })
    expect(reply).toEqual({ text: 'hello' })
    expect(lastSeen().path).toBe('/v1/audio/transcriptions')
    const form = await lastForm()
    expect(form.getAll('model')).toEqual(['up'])
    expect(form.get('language')).toBe('de')
    expect(form.getAll('timestamp_granularities[]')).toEqual(['word', 'segment'])
    const sent = form.get('file')
    if (!(sent instanceof File)) return expect.unreachable('no file')
    expect([sent.name, sent.type]).toEqual(['über "x".wav', 'audio/wav'])
    expect(Buffer.from(await sent.arrayBuffer())).toEqual(sound)
  })

  test("Open WebUI's own requests, made after its source: by its names of models, and a file without a type", async () => {
    const send = (path: string, type: string, body: string) =>
      fetch(`${app.url}/v1${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-user-0123456789abcdef', 'content-type': type },
        body,
      })
    upstream.answer = saying(sound, 'audio/mpeg')
    const spoken = await send('/audio/speech', 'application/json', '{"input": "Hi", "voice": "alloy", "model": "tts-1"}')
    expect(Buffer.from(await spoken.arrayBuffer())).toEqual(sound)
    expect(lastSeen().body).toEqual({ input: 'Hi', voice: 'alloy', model: 'up' })
    upstream.answer = asJson({ text: 'hello' })
    const field = (name: string, text: string) => `--x\r\nContent-Disposition: form-data; ${name}\r\n\r\n${text}\r\n`
    const form = `${field('name="model"', 'whisper-1')}${field('name="file"; filename="a.webm"', 'sound')}--x--\r\n`
    const heard = await send('/audio/transcriptions', 'multipart/form-data; boundary=x', form)
    expect(await heard.json()).toEqual({ text: 'hello' })
    expect((await lastForm()).get('file')).toMatchObject({ name: 'a.webm', size: 5 })
    expect((await lastForm()).get('model')).toBe('up')
  })

  test('a transcription streams', async () => {
    const events = [
      { type: 'transcript.text.delta', delta: 'hel' },
      { type: 'transcript.text.done', text: 'hello' },
    ]
    upstream.answer = saying(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), 'text/event-stream')
    const file = await toFile(sound, 'a.wav')
    const stream = await client.audio.transcriptions.create({ model: 'studio', file, stream: true })
    const seen: unknown[] = []
    for await (const event of stream) seen.push(event)
    expect(seen).toEqual(events)
    expect((await lastForm()).get('stream')).toBe('true')
  })

  test('translations and pictures', async () => {
    upstream.answer = asJson({ text: 'hello' })
    const file = await toFile(sound, 'a.wav')
    expect(await client.audio.translations.create({ model: 'studio', file })).toEqual({ text: 'hello' })
    expect(lastSeen().path).toBe('/v1/audio/translations')
    const made = { created: 1, data: [{ b64_json: 'AA==' }] }
    upstream.answer = asJson(made)
    expect(await client.images.generate({ model: 'studio', prompt: 'a cat', n: 1, size: '256x256' })).toEqual(made)
    expect(lastSeen()).toMatchObject({ path: '/v1/images/generations', body: { model: 'up', prompt: 'a cat', size: '256x256' } })
  })

  test('pictures of an edit and its mask arrive in order, with their fields, and variations alike', async () => {
    const made = { created: 1, data: [{ b64_json: 'AA==' }] }
    upstream.answer = asJson(made)
    const image = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => toFile(sound, `${name}.png`, { type: 'image/png' })))
    const mask = await toFile(silence, 'mask.png', { type: 'image/png' })
    expect(await client.images.edit({ model: 'studio', image, mask, prompt: 'a hat', n: 1 })).toEqual(made)
    expect(lastSeen().path).toBe('/v1/images/edits')
    const form = await lastForm()
    expect([form.get('model'), form.get('prompt')]).toEqual(['up', 'a hat'])
    expect(form.getAll('image[]').map((each) => (each as File).name)).toEqual(['a.png', 'b.png', 'c.png', 'd.png', 'e.png'])
    const [picture = expect.unreachable('no picture')] = form.getAll('image[]') as File[]
    expect(Buffer.from(await picture.arrayBuffer())).toEqual(sound)
    expect(form.get('mask')).toMatchObject({ name: 'mask.png', type: 'image/png' })

    const [one = expect.unreachable('no picture')] = image
    expect(await client.images.createVariation({ model: 'studio', image: one })).toEqual(made)
    expect(lastSeen().path).toBe('/v1/images/variations')
    expect((await refusal(client.images.edit({ model: 'plain', image: one, prompt: 'a hat' }))).message).toContain("'studio'")
  })

  test('an edit without a picture is a 400 that names the field', async () => {
    const form = new FormData()
    form.set('prompt', 'a hat')
    const headers = { authorization: 'Bearer sk-user-0123456789abcdef' }
    const reply = await fetch(`${app.url}/v1/images/edits`, { method: 'POST', body: form, headers })
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'image' } }])
  })

  test('voices are those of the server, asked for with its name for the model', async () => {
    const asked: string[] = []
    upstream.get = (path, response) => {
      asked.push(path)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"voices":["alloy"]}')
      return true
    }
    expect(await client.get('/audio/voices', { query: { model: 'studio', language: 'de' } })).toEqual({ voices: ['alloy'] })
    expect(await client.get('/audio/voices')).toEqual({ voices: ['alloy'] })
    expect(asked).toEqual(['/v1/audio/voices?model=up&language=de', '/v1/audio/voices?model=up'])
    expect(await client.get('/audio/models')).toEqual({ models: [{ id: 'studio', name: 'studio' }] })
    expect((await refusal(client.get('/audio/voices', { query: { model: 'plain' } }))).param).toBe('model')
    const other = client.withOptions({ apiKey: 'sk-reader-0123456789abcdef' })
    expect(await refusal(other.get('/audio/voices'))).toMatchObject({ status: 403 })
    expect((await refusal(client.get('/audio/voices', { query: { at: 'http://127.0.0.1/' } }))).param).toBe('at')
    delete upstream.get
    // A server of speech that lists no voices.
    expect(await refusal(client.get('/audio/voices'))).toMatchObject({ status: 400, param: 'model' })
  })

  test('what names an address is refused: the server behind might fetch it', async () => {
    const { status, param, message } = await refusal(speak({ ref_audio: 'http://169.254.169.254/latest' }))
    expect({ status, param }).toEqual({ status: 400, param: 'ref_audio' })
    expect(message).toContain('send the data itself')
    const file = await toFile(sound, 'a.wav')
    const form = { model: 'studio', file, url: 'http://127.0.0.1/a.wav' }
    expect((await refusal(client.audio.transcriptions.create(form))).param).toBe('url')
    expect(upstream.seen).toEqual([])
  })

  test('without a model, the first that has the service is used', async () => {
    upstream.answer = asJson({ created: 1, data: [] })
    await client.images.generate({ prompt: 'a cat' })
    expect(lastSeen().body).toEqual({ model: 'up', prompt: 'a cat' })
  })

  test.each(['plain', 'scripted'])('the model %s, which has no service, is refused by name', async (model) => {
    const { status, param, message } = await refusal(speak({ model }))
    expect([status, param]).toEqual([400, 'model'])
    expect(message).toContain(`model '${model}' has no service 'speech': choose another model: 'studio'`)
    expect(upstream.seen).toEqual([])
  })

  test('an unknown model is a 404, and a key without the permission a 403', async () => {
    expect(await refusal(speak({ model: 'nothing' }))).toMatchObject({ status: 404, code: 'model_not_found' })
    const other = client.withOptions({ apiKey: 'sk-reader-0123456789abcdef' })
    expect(await refusal(other.images.generate({ prompt: 'a' }))).toMatchObject({ status: 403 })
  })

  test.each([
    [400, 'said', 400, 'said'],
    [404, 'no route', 400, 'no route'],
    [429, 'busy', 429, 'busy'],
    [500, 'broken', 502, 'broken'],
  ])(
    'an error of the server with status %d is one in OpenAI’s form',
    async (theirs, message, ours, quoted) => {
      upstream.answer = (seen, response) => asJson({ error: { message } }, theirs)(seen, response)
      const error = await refusal(speak())
      expect(error.status).toBe(ours)
      expect(error.message).toContain(quoted)
    },
    30_000,
  )

  test('a body over the limit is a 413, and a form without a file a 400', async () => {
    const file = await toFile(Buffer.alloc(200_000), 'a.wav')
    expect(await refusal(client.audio.transcriptions.create({ model: 'studio', file }))).toMatchObject({
      status: 413,
      message: expect.stringContaining('server.bodyLimitBytes'),
    })
    const form = new FormData()
    form.set('model', 'studio')
    const headers = { authorization: 'Bearer sk-user-0123456789abcdef' }
    const reply = await fetch(`${app.url}/v1/audio/transcriptions`, { method: 'POST', body: form, headers })
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'file' } }])
    expect(upstream.seen).toEqual([])
  })

  test.each(['before', 'in'])('a client that leaves %s the reply stops the server soon', async (when) => {
    upstream.answer = (_, response) => {
      if (when === 'before') return
      response.writeHead(200, { 'content-type': 'audio/mpeg' })
      response.write('some')
    }
    const before = upstream.hangUps()
    const leaving = new AbortController()
    const call = client.audio.speech.create({ model: 'studio', input: 'Hi', voice: 'alloy' }, { signal: leaving.signal })
    call.catch(() => undefined)
    if (when === 'in') await call
    else await until(() => upstream.seen.length > 0)
    leaving.abort()
    await until(() => upstream.hangUps() > before, 2500 * loadFactor())
  })

  test('a cancel by the id in a form field stops the server, and the reply says so', async () => {
    upstream.answer = () => undefined
    const before = upstream.hangUps()
    const file = await toFile(sound, 'a.wav')
    const body = { model: 'studio', file, cancel_id: 'mine' }
    const failing = refusal(client.audio.transcriptions.create(body))
    await until(() => upstream.seen.length > 0)
    await client.post('/../api/inference/cancel', { body: { cancel_id: 'mine' } })
    await until(() => upstream.hangUps() > before, 2500 * loadFactor())
    expect((await failing).status).toBe(499)
    expect([...(await lastForm()).keys()]).toEqual(['model', 'file'])
  })

  test('a reply that breaks off breaks off for the client, too', async () => {
    upstream.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' })
      response.write('some', () => response.destroy())
    }
    await expect(speak().then((reply) => reply.arrayBuffer())).rejects.toThrow()
    // What has begun is not made a second time.
    expect(upstream.seen).toHaveLength(1)
  })

  test.each(['/v1', '/api/inference'])("Unsloth's %s/audio/generate speaks the last user message", async (mount) => {
    upstream.answer = saying(silence, 'audio/wav')
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'user', content: 'Hello' },
    ]
    const headers = { authorization: 'Bearer sk-user-0123456789abcdef', 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'default', messages, temperature: 0.6 })
    const reply = await fetch(`${app.url}${mount}/audio/generate`, { method: 'POST', headers, body })
    expect(reply.headers.get('x-dragoman-ignored')).toBe('temperature')
    expect(await reply.json()).toMatchObject({
      object: 'chat.completion.audio',
      model: 'studio',
      audio: { data: silence.toString('base64'), format: 'wav', sample_rate: 24_000 },
      choices: [{ message: { role: 'assistant' }, finish_reason: 'stop' }],
    })
    expect(lastSeen().body).toEqual({ model: 'up', input: 'Hello', voice: 'alloy', response_format: 'wav' })
  })
})

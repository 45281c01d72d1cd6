import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary } from '../../support/llama/llama-server.ts'
import { writeRandomProjector } from '../../support/llama/random-projector.ts'
import { hasSenses } from '../../support/llama/senses.ts'
import { wav } from '../../support/pictures.ts'
import { ffmpegProgram, synthesize } from '../../support/process/ffmpeg.ts'

const engines = [
  ...(llamaServerBinary === undefined ? [] : [{ engine: 'llama-server', binary: llamaServerBinary } as const]),
  ...(hasSenses ? [{ engine: 'llama' } as const] : []),
]

describe.skipIf(engines.length === 0).each(engines)('speech on the engine $engine', (engine) => {
  let app: RunningApp
  let client: OpenAI
  let folder: string
  beforeAll(async () => {
    // A trained model, which ends its turns, and hears noise.
    folder = await mkdtemp(join(tmpdir(), 'dragoman-speech-'))
    await writeRandomProjector(join(folder, 'mmproj.gguf'), { embeddingLength: 256 })
    const files = { source: 'builtin:dragoman-tiny.gguf', mmproj: join(folder, 'mmproj.gguf') }
    const shared = { ...engine, ...files, threads: 1, contextLength: 4096, slots: 2 }
    app = await startApp({
      models: [
        { engine: 'fake', id: 'scripted', script: 'from-request' },
        { ...engine, id: 'deaf', source: 'builtin:dragoman-tiny.gguf', load: 'demand' },
        { ...shared, id: 'hearing' },
      ],
      builtinModel: false,
      ...(ffmpegProgram !== undefined && { media: { ffmpeg: ffmpegProgram } }),
    })
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  })
  afterAll(async () => {
    await app?.close()
    await rm(folder, { recursive: true })
  })

  const sound = () => toFile(wav(1), 'a.wav', { type: 'audio/wav' })
  const inChat = async (hertz: number) => {
    const data = wav(1, hertz).toString('base64')
    const content = [
      { type: 'text' as const, text: 'Transcribe audio to text' },
      { type: 'input_audio' as const, input_audio: { data, format: 'wav' as const } },
    ]
    const reply = await client.chat.completions.create({
      model: 'hearing',
      temperature: 0,
      reasoning_effort: 'none',
      messages: [{ role: 'user', content }],
    })
    return { text: reply.choices[0]?.message.content?.trim(), tokens: reply.usage?.prompt_tokens }
  }

  test('becomes the text that the model says to it, and its tokens are counted', async () => {
    const reply = await client.audio.transcriptions.create({ model: 'hearing', file: await sound() })
    const { text, tokens } = await inChat(440)
    expect(reply.text).toBe(text)
    expect(reply.usage).toMatchObject({ type: 'tokens', input_tokens: tokens })
  })

  test('is streamed as the same text', async () => {
    const whole = await client.audio.transcriptions.create({ model: 'hearing', file: await sound() })
    const stream = await client.audio.transcriptions.create({ model: 'hearing', file: await sound(), stream: true })
    let text = ''
    let last: { readonly type: string; readonly text?: string } | undefined
    for await (const event of stream) {
      last = event
      if (event.type === 'transcript.text.delta') text += event.delta
    }
    expect(text.trimEnd()).toBe(whole.text)
    expect(last).toMatchObject({ type: 'transcript.text.done', text: whole.text })
  })

  test('is plain text on request, and has no times', async () => {
    const form = async (fields: Readonly<Record<string, string>>) => {
      const body = new FormData()
      for (const [name, value] of Object.entries(fields)) body.set(name, value)
      body.set('file', new Blob([new Uint8Array(wav(1))], { type: 'audio/wav' }), 'a.wav')
      const reply = await fetch(`${app.url}/v1/audio/transcriptions`, { method: 'POST', body })
      return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() }
    }
    const plain = await form({ model: 'hearing', response_format: 'text' })
    expect(plain).toMatchObject({ status: 200, type: 'text/plain; charset=utf-8' })
    expect(plain.text).toMatch(/\n$/)
    const described = await form({ model: 'hearing', response_format: 'verbose_json' })
    expect(JSON.parse(described.text)).toMatchObject({ task: 'transcribe', duration: 1 })
    expect(await form({ model: 'hearing', response_format: 'srt' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('does not measure'),
    })
  })

  test('of several pieces is heard piece by piece', async () => {
    const file = await toFile(wav(31), 'a.wav', { type: 'audio/wav' })
    const short = await client.audio.transcriptions.create({ model: 'hearing', file: await sound() })
    const long = await client.audio.transcriptions.create({ model: 'hearing', file })
    expect(long.usage).toMatchObject({ type: 'tokens' })
    const tokensOf = ({ usage }: typeof long) => (usage?.type === 'tokens' ? usage.input_tokens : 0)
    expect(tokensOf(long)).toBeGreaterThan(tokensOf(short))
  })

  test('that nobody waits for any more is not heard to its end', async () => {
    const busy = () => app.metric('dragoman_slots_busy{model="hearing"}')
    const file = await toFile(wav(900), 'a.wav', { type: 'audio/wav' })
    const gone = new AbortController()
    const startedMs = performance.now()
    const stream = await client.audio.transcriptions.create({ model: 'hearing', file, stream: true }, { signal: gone.signal })
    await stream[Symbol.asyncIterator]().next()
    const pieceMs = performance.now() - startedMs
    expect(await busy()).toBeGreaterThan(0)
    gone.abort()
    // All of its pieces would take ten times as long.
    await until(async () => (await busy()) === 0, 2 * pieceMs)
    await new Promise((resolve) => setTimeout(resolve, pieceMs / 2))
    expect(await busy()).toBe(0)
  })

  test.skipIf(ffmpegProgram === undefined).each([
    ['mp3', 'libmp3lame', 'audio/mpeg'],
    ['webm', 'libopus', 'audio/webm'],
    // ffmpeg writes a chunk in front of the samples.
    ['wav', 'pcm_s16le', 'audio/wav'],
  ])('in %s of %s is heard piece by piece', async (format, codec, type) => {
    const transcribe = async (bytes: Uint8Array) => {
      const file = await toFile(bytes, `a.${format}`, { type })
      return client.audio.transcriptions.create({ model: 'hearing', file, response_format: 'verbose_json' })
    }
    const plain = await transcribe(wav(31))
    const coded = await transcribe(synthesize('sine=frequency=440', 31, ['-c:a', codec, '-f', format]))
    const tokensOf = (reply: object) => ('usage' in reply ? (reply.usage as { readonly input_tokens: number }).input_tokens : 0)
    // Without WAV, the duration is not known, and there is one prompt.
    expect(Number(coded.duration)).toBeCloseTo(31, 0)
    expect(tokensOf(coded)).toBeGreaterThanOrEqual(tokensOf(plain))
  })

  test('without a model is for one that hears, and a model that does not is refused by name', async () => {
    const body = new FormData()
    body.set('file', new Blob([new Uint8Array(wav(1))], { type: 'audio/wav' }), 'a.wav')
    const reply = await fetch(`${app.url}/v1/audio/translations`, { method: 'POST', body })
    expect(reply.status).toBe(200)
    const refused = client.audio.transcriptions.create({ model: 'deaf', file: await sound() })
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'file', message: expect.stringContaining("'deaf'") })
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { randomModel, randomProjector } from '../../support/llama/models.ts'
import { tokensPerImage } from '../../support/llama/random-projector.ts'
import { seeingEngines } from '../../support/llama/seeing.ts'
import { png, wav } from '../../support/pictures.ts'

type Reply = {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
  readonly usage: { readonly prompt_tokens: number }
}

const red = png([255, 0, 0])
const imageOf = (bytes: Buffer) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${bytes.toString('base64')}` },
})
const text = (words: string) => ({ type: 'text', text: words })

describe.for(seeingEngines)('a model with a projector, on $engine$hint', ({ engine, settings, isMissing }) => {
  if (isMissing) return void test.skip('needs the engine', () => undefined)
  let app: RunningApp
  beforeAll(async () => {
    const files = { source: await randomModel(), mmproj: await randomProjector() }
    const model = { ...settings, ...files, threads: 1 }
    app = await startApp({ models: [{ ...model, id: 'm', contextLength: 1024, slots: 2 }], builtinModel: false })
  })
  afterAll(() => app?.close())

  const post = async (path: string, body: object) => {
    const reply = await fetch(app.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    })
    return { status: reply.status, body: await reply.json() }
  }
  const chat = async (content: unknown, more: object = {}) => {
    const { body } = await post('/v1/chat/completions', {
      messages: [{ role: 'user', content }],
      temperature: 0,
      max_tokens: 16,
      ...more,
    })
    return body as Reply
  }
  const said = ({ choices }: Reply) => choices[0]?.message.content

  test('what it reads is known', async () => {
    const { modalities } = (await (await fetch(`${app.url}/props`)).json()) as { modalities: object }
    expect(modalities).toMatchObject({ vision: true, audio: true })
  })

  test('the picture decides what is said, and its tokens are counted', async () => {
    const alone = await chat([text('look ')])
    const seen = await chat([text('look '), imageOf(red)])
    expect(seen.usage.prompt_tokens - alone.usage.prompt_tokens).toBe(tokensPerImage)
    expect(said(await chat([text('look '), imageOf(png([0, 0, 255]))]))).not.toBe(said(seen))
    expect(said(await chat([text('look '), imageOf(red)]))).toBe(said(seen))
  })

  test('a sound is read, too', async () => {
    const sound = (seconds: number) => ({
      type: 'input_audio',
      input_audio: { data: wav(seconds).toString('base64'), format: 'wav' },
    })
    const heard = await chat([text('listen '), sound(1)])
    expect(heard.usage.prompt_tokens).toBeGreaterThan((await chat([text('listen ')])).usage.prompt_tokens)
  })

  test('the place of a picture among texts and turns matters', async () => {
    const before = await chat([imageOf(red), text('look now')])
    expect(said(await chat([text('look now'), imageOf(red)]))).not.toBe(said(before))
  })

  test('pictures in the results of tools are seen', async () => {
    const conversation = (result: unknown) => [
      { role: 'user', content: 'look' },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: result },
    ]
    const ask = async (result: unknown) =>
      (await post('/v1/chat/completions', { messages: conversation(result), temperature: 0, max_tokens: 16 })).body as Reply
    const seen = await ask([text('here: '), imageOf(red)])
    const blank = await ask([text('here: ')])
    expect(seen.usage.prompt_tokens - blank.usage.prompt_tokens).toBe(tokensPerImage)
  })

  test('pictures that do not fit are refused with their tokens, before a slot is taken', async () => {
    const pictures = Array.from({ length: 70 }, () => imageOf(red))
    const { status, body } = await post('/v1/chat/completions', {
      messages: [{ role: 'user', content: pictures }],
      max_tokens: 5,
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({ error: { code: 'context_length_exceeded', message: expect.stringMatching(/11\d\d/) } })
  })

  test('the tokens of a conversation with a picture are counted without generating', async () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look ' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: red.toString('base64') } },
        ],
      },
    ]
    const { body } = await post('/v1/messages/count_tokens', { messages })
    const { usage } = (await post('/v1/messages', { messages, max_tokens: 4 })).body as {
      usage: { input_tokens: number; cache_read_input_tokens?: number }
    }
    expect(body).toEqual({ input_tokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) })
  })

  test('bytes that are no picture are refused', async () => {
    const broken = imageOf(red.subarray(0, 60))
    const { status, body } = await post('/v1/chat/completions', { messages: [{ role: 'user', content: [broken] }] })
    expect(status).toBe(400)
    expect(body).toMatchObject({
      error: { message: expect.stringContaining(engine === 'llama' ? 'cannot be decoded' : 'cannot read the media') },
    })
  })
})

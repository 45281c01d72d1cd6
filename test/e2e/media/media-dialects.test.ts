import { hash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { HumanMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { generateText } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { png } from '../../support/pictures.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const picture = png([200, 30, 30])
const base64 = picture.toString('base64')
const dataUrl = `data:image/png;base64,${base64}`
/** What the fake engine says that it was shown. */
const seen = `[image image/png ${picture.length} bytes 40x30 sha256:${hash('sha256', picture).slice(0, 12)}]`

let app: RunningApp
let images: Awaited<ReturnType<typeof listenOnLoopback>>
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-pictures-'))
  await writeFile(join(folder, 'a.png'), picture)
  images = await listenOnLoopback((_, response) => void response.end(picture))
  app = await startApp({
    models: [{ id: 'm', engine: 'fake', script: 'from-request' }],
    builtinModel: false,
    media: { allowedLocalPath: folder, allowedAddresses: ['127.0.0.1'] },
  })
})
afterAll(async () => {
  await app?.close()
  await images?.close()
  await rm(folder, { recursive: true, force: true })
})

async function post(path: string, body: object): Promise<string> {
  const reply = await fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
  })
  return await reply.text()
}

describe('the same picture reaches the engine as the same bytes', () => {
  const chat = (part: object) => post('/v1/chat/completions', { messages: [{ role: 'user', content: [part] }] })
  const responses = (part: object) => post('/v1/responses', { input: [{ role: 'user', content: [part] }] })
  const messages = (source: object) =>
    post('/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content: [{ type: 'image', source }] }] })
  const stack = (image: object) =>
    post('/v1/inference/chat-completion', { model_id: 'm', messages: [{ role: 'user', content: { type: 'image', image } }] })
  const url = () => `${images.origin}/a.png`
  const file = () => `file://${folder}/a.png`

  test.each<[string, () => Promise<string>]>([
    ['chat: an object', () => chat({ type: 'image_url', image_url: { url: dataUrl } })],
    ['chat: a string', () => chat({ type: 'image_url', image_url: dataUrl })],
    ['chat: a URL', () => chat({ type: 'image_url', image_url: { url: url() } })],
    ['chat: a file', () => chat({ type: 'image_url', image_url: { url: file() } })],
    ['chat: a file part', () => chat({ type: 'file', file: { file_data: dataUrl } })],
    [
      'chat: beside the messages',
      () => post('/v1/chat/completions', { messages: [{ role: 'user', content: '' }], image_base64: base64 }),
    ],
    ['Responses', () => responses({ type: 'input_image', image_url: dataUrl })],
    ['Responses: a URL', () => responses({ type: 'input_image', image_url: url() })],
    ['Messages: base64', () => messages({ type: 'base64', media_type: 'image/png', data: base64 })],
    ['Messages: a URL', () => messages({ type: 'url', url: url() })],
    ['llama-stack: data', () => stack({ data: base64 })],
    ['llama-stack: a URL', () => stack({ url: { uri: url() } })],
  ])('%s', async (_, ask) => {
    expect(await ask()).toContain(seen)
  })

  test.each<[string, () => Promise<string>, string]>([
    [
      'chat',
      () => chat({ type: 'image_url', image_url: { url: 'data:image/png;base64,?' } }),
      'messages[0].content[0].image_url.url',
    ],
    ['Responses', () => responses({ type: 'input_image', image_url: 'gopher://a/b' }), 'input[0].content[0].image_url'],
    ['Messages', () => messages({ type: 'url', url: 'http://10.1.2.3/' }), 'messages[0].content[0].source.url'],
    ['llama-stack', () => stack({ data: 'QUJD' }), 'messages[0].content.image.data'],
  ])('%s: a refusal names the field that was sent', async (_, ask, name) => {
    expect(await ask()).toContain(name)
  })
})

describe('pictures of the clients that people use', () => {
  test('the OpenAI SDK, in chats and in Responses', async () => {
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' })
    const { choices } = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: dataUrl } }] }],
    })
    expect(choices[0]?.message.content).toBe(seen)
    const { output_text } = await client.responses.create({
      model: 'm',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: dataUrl, detail: 'auto' }] }],
    })
    expect(output_text).toContain(picture.length.toString())
  })

  test('the Anthropic SDK', async () => {
    const client = new Anthropic({ baseURL: app.url, apiKey: 'none' })
    const { content } = await client.messages.create({
      model: 'm',
      max_tokens: 100,
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }] },
      ],
    })
    expect(content).toMatchObject([{ type: 'text', text: seen }])
  })

  test('the AI SDK', async () => {
    const provider = createOpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' })
    const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, image: picture }] }]
    expect((await generateText({ model: provider.chat('m'), messages })).text).toBe(seen)
    expect((await generateText({ model: provider.responses('m'), messages })).text).toBe(seen)
  })

  test('LangChain', async () => {
    const model = new ChatOpenAI({ model: 'm', apiKey: 'none', configuration: { baseURL: `${app.url}/v1` } })
    const message = new HumanMessage({ content: [{ type: 'image_url', image_url: { url: dataUrl } }] })
    expect((await model.invoke([message])).content).toBe(seen)
  })
})

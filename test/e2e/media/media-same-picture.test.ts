import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { seeingEngines } from '../../support/llama/seeing.ts'
import { drawing } from '../../support/pictures.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const size = [200, 200] as const
const shapes = [{ x: 100, y: 100, reach: 40 }]
const redSquare = drawing({ size, ground: [255, 255, 255], paint: [214, 40, 40], kind: 'square', shapes })
const blueSquare = drawing({ size, ground: [255, 255, 255], paint: [38, 84, 214], kind: 'square', shapes })
const question = 'What colour do you see?'

type Json = Readonly<Record<string, unknown>>
/** What a reply says, and the tokens of its prompt. */
type Seen = { readonly answer: string; readonly tokens: number }

/** One picture, in each form in which a protocol takes it, to a model that sees it. */
describe.for(seeingEngines)('the same picture, however it is sent, on $engine$hint', ({ settings, isMissing }) => {
  if (isMissing) return void test.skip('needs the engine', () => undefined)
  let app: RunningApp
  let images: Awaited<ReturnType<typeof listenOnLoopback>>
  let folder: string
  let fileId: string
  const hits: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-same-picture-'))
    await writeFile(join(folder, 'red.png'), redSquare)
    images = await listenOnLoopback((request, response) => {
      hits.push(request.url ?? '')
      response.end(request.url?.startsWith('/blue') === true ? blueSquare : redSquare)
    })
    app = await startApp({
      models: [
        {
          ...settings,
          id: 'seeing',
          source: 'builtin:dragoman-tiny.gguf',
          mmproj: 'builtin:dragoman-tiny-mmproj.gguf',
          contextLength: 1024,
          threads: 1,
        },
      ],
      builtinModel: false,
      media: { allowedLocalPath: folder, allowedAddresses: ['127.0.0.1'] },
    })
    const form = new FormData()
    form.set('purpose', 'vision')
    form.set('file', new Blob([redSquare]), 'red.png')
    const uploaded = await fetch(`${app.url}/v1/files`, { method: 'POST', body: form })
    fileId = ((await uploaded.json()) as { id: string }).id
  })
  afterAll(async () => {
    await app?.close()
    await images?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const post = async (path: string, body: Json) => {
    const reply = await fetch(app.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    })
    const text = await reply.text()
    expect(reply.status, text).toBe(200)
    return JSON.parse(text)
  }

  // Each protocol has its own way to say: greedy, and without thoughts.
  const chatOf = async (messages: readonly Json[], more: Json = {}): Promise<Seen> => {
    const greedy = { model: 'seeing', temperature: 0, max_tokens: 20, reasoning_effort: 'none' }
    const { choices, usage } = await post('/v1/chat/completions', { ...greedy, messages, ...more })
    return { answer: choices[0].message.content, tokens: usage.prompt_tokens }
  }
  const chat = (part: Json, more: Json = {}) =>
    chatOf([{ role: 'user', content: [{ type: 'text', text: question }, part] }], more)
  const responsesOf = async (input: readonly Json[], more: Json = {}): Promise<Seen> => {
    const greedy = { model: 'seeing', temperature: 0, max_output_tokens: 20, reasoning: { effort: 'none' }, store: false }
    const { output, usage } = await post('/v1/responses', { ...greedy, input, ...more })
    const message = output.find(({ type }: { type: string }) => type === 'message')
    return { answer: message.content[0].text, tokens: usage.input_tokens }
  }
  const responses = (part: Json) => responsesOf([{ role: 'user', content: [{ type: 'input_text', text: question }, part] }])
  const messagesOf = async (messages: readonly Json[], more: Json = {}): Promise<Seen> => {
    const greedy = { model: 'seeing', temperature: 0, max_tokens: 20, thinking: { type: 'disabled' } }
    const { content, usage } = await post('/v1/messages', { ...greedy, messages, ...more })
    const cached = usage.cache_read_input_tokens ?? 0
    return { answer: content[0].text, tokens: usage.input_tokens + cached }
  }
  const messages = (source: Json) =>
    messagesOf([
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'image', source },
        ],
      },
    ])
  const stack = async (image: Json): Promise<Seen> => {
    const content = [
      { type: 'text', text: question },
      { type: 'image', image },
    ]
    const sampling = { strategy: { type: 'greedy' }, max_tokens: 20 }
    const body = { model_id: 'seeing', messages: [{ role: 'user', content }], sampling_params: sampling }
    const { completion_message, metrics } = await post('/v1/inference/chat-completion', body)
    const tokens = (metrics as { metric: string; value: number }[]).find(({ metric }) => metric === 'prompt_tokens')?.value
    return { answer: completion_message.content, tokens: tokens ?? Number.NaN }
  }

  const base64 = redSquare.toString('base64')
  const dataUrl = `data:image/png;base64,${base64}`
  const url = () => `${images.origin}/red.png`

  test.each<[string, () => Promise<Seen>]>([
    ['chat: a string', () => chat({ type: 'image_url', image_url: dataUrl })],
    ['chat: a URL', () => chat({ type: 'image_url', image_url: { url: url() } })],
    ['chat: a URL, percent-encoded', () => chat({ type: 'image_url', image_url: { url: percentUrl(redSquare) } })],
    ['chat: a local file', () => chat({ type: 'image_url', image_url: { url: `file://${folder}/red.png` } })],
    ['chat: a path', () => chat({ type: 'image_url', image_url: { url: join(folder, 'red.png') } })],
    ['chat: a file part with data', () => chat({ type: 'file', file: { file_data: dataUrl } })],
    ['chat: an uploaded file', () => chat({ type: 'file', file: { file_id: fileId } })],
    ['chat: beside the messages', () => chatOf([{ role: 'user', content: question }], { image_base64: base64 })],
    ['Responses: a data URL', () => responses({ type: 'input_image', image_url: dataUrl })],
    ['Responses: a URL', () => responses({ type: 'input_image', image_url: url() })],
    ['Responses: an uploaded file', () => responses({ type: 'input_image', file_id: fileId })],
    ['Responses: an uploaded file as a file', () => responses({ type: 'input_file', file_id: fileId })],
    ['Messages: base64', () => messages({ type: 'base64', media_type: 'image/png', data: base64 })],
    ['Messages: a URL', () => messages({ type: 'url', url: url() })],
    ['Messages: an uploaded file', () => messages({ type: 'file', file_id: fileId })],
  ])('%s', async (_, ask) => {
    expect(await ask()).toEqual(await chat({ type: 'image_url', image_url: { url: dataUrl } }))
  })

  test.each<[string, () => Promise<Seen>]>([
    ['data', () => stack({ data: base64 })],
    ['a URL', () => stack({ url: { uri: url() } })],
  ])('llama-stack, which has no switch for thoughts: %s', async (_, ask) => {
    const asDefault = { reasoning_effort: undefined }
    expect(await ask()).toEqual(await chat({ type: 'image_url', image_url: { url: dataUrl } }, asDefault))
  })

  test('the answer is about the picture', async () => {
    const blue = `data:image/png;base64,${blueSquare.toString('base64')}`
    expect((await chat({ type: 'image_url', image_url: { url: dataUrl } })).answer).toBe('red')
    expect((await chat({ type: 'image_url', image_url: { url: blue } })).answer).toBe('blue')
  })

  test('its tokens are counted before as they are counted after, at each size', async () => {
    const endpoints = [{ url: `${app.url}/v1` }]
    const front = await startApp({ models: [{ id: 'seeing', engine: 'remote', endpoints }], builtinModel: false })
    for (const edge of [40, 200, 640]) {
      const picture = drawing({ size: [edge, edge / 2], ground: [0, 0, 0], paint: [214, 40, 40], kind: 'circle', shapes })
      const source = { type: 'base64', media_type: 'image/png', data: picture.toString('base64') }
      const content = [
        { type: 'text', text: question },
        { type: 'image', source },
      ]
      const asked = { model: 'seeing', messages: [{ role: 'user', content }], thinking: { type: 'disabled' } }
      const { input_tokens } = await post('/v1/messages/count_tokens', asked)
      expect(input_tokens).toBe((await messages(source)).tokens)
      const behind = await fetch(`${front.url}/v1/messages/count_tokens`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      })
      expect(await behind.json()).toEqual({ input_tokens })
    }
    await front.close()
  })

  test('in the result of a tool, in each protocol that has them', async () => {
    const inChat = await chatOf([
      { role: 'user', content: question },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'image_url', image_url: { url: dataUrl } }] },
    ])
    const inMessages = await messagesOf([
      { role: 'user', content: question },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'see', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'image', source: { type: 'url', url: url() } }] }],
      },
    ])
    const inResponses = await responsesOf([
      { role: 'user', content: question },
      { type: 'function_call', call_id: 'c1', name: 'see', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: dataUrl }] },
    ])
    const without = await chatOf([
      { role: 'user', content: question },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: '' },
    ])
    expect(inMessages).toEqual(inChat)
    expect(inResponses).toEqual(inChat)
    expect(inChat.tokens).toBeGreaterThan(without.tokens)
  })

  test('a picture that is sent again by its URL is not fetched again, in any protocol', async () => {
    const again = `${images.origin}/red.png?again`
    const fetched = () => hits.filter((path) => path.endsWith('?again')).length
    const first = await chat({ type: 'image_url', image_url: { url: again } })
    expect(fetched()).toBe(1)
    expect(await chat({ type: 'image_url', image_url: { url: again } })).toEqual(first)
    expect(await responses({ type: 'input_image', image_url: again })).toEqual(first)
    expect(await messages({ type: 'url', url: again })).toEqual(first)
    expect(await stack({ url: { uri: again } })).toMatchObject({ answer: first.answer })
    expect(fetched()).toBe(1)
  })
})

function percentUrl(bytes: Buffer): string {
  return `data:image/png,${bytes.toString('hex').replaceAll(/../g, (pair) => `%${pair}`)}`
}

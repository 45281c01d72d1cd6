import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { hasSenses, sensesHint } from '../../support/llama/senses.ts'
import { drawing } from '../../support/pictures.ts'

type Json = Readonly<Record<string, unknown>>

const size = [200, 200] as const
const white = [255, 255, 255] as const
const one = [{ x: 100, y: 100, reach: 40 }]
const two = [
  { x: 60, y: 50, reach: 30 },
  { x: 150, y: 130, reach: 30 },
]
const pictures = {
  redCircles: drawing({ size, ground: white, paint: [214, 40, 40], kind: 'circle', shapes: two }),
  blueSquare: drawing({ size, ground: white, paint: [38, 84, 214], kind: 'square', shapes: one }),
}
const files = { source: 'builtin:dragoman-tiny.gguf', mmproj: 'builtin:dragoman-tiny-mmproj.gguf' }
const base64 = (picture: Buffer) => picture.toString('base64')
const dataUrl = (picture: Buffer) => `data:image/png;base64,${base64(picture)}`

describe.skipIf(!hasSenses)(`dragoman-tiny sees on the embedded engine${sensesHint}`, () => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp({
      models: [{ engine: 'llama', id: 'seeing', contextLength: 1024, threads: 1, slots: 2, ...files }],
      builtinModel: false,
    })
  })
  afterAll(() => app.close())

  const post = async (path: string, body: Json) => {
    const reply = await fetch(app.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    })
    return { status: reply.status, json: (await reply.json()) as Json }
  }

  test('it counts the shapes of a picture', async () => {
    const content = [
      { type: 'image_url', image_url: { url: dataUrl(pictures.redCircles) } },
      { type: 'text', text: 'How many shapes are there?' },
    ]
    const asked = { model: 'seeing', temperature: 0, max_tokens: 20, reasoning_effort: 'none' }
    const { json } = await post('/v1/chat/completions', { ...asked, messages: [{ role: 'user', content }] })
    expect(json).toMatchObject({ choices: [{ message: { content: '2' } }] })
  })
})

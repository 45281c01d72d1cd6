import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { seeingEngines } from '../../support/llama/seeing.ts'
import { drawing } from '../../support/pictures.ts'

const colours = {
  red: [214, 40, 40],
  green: [46, 160, 67],
  blue: [38, 84, 214],
  yellow: [246, 214, 30],
  orange: [247, 127, 0],
  purple: [128, 40, 160],
} as const
const places = [
  { x: 60, y: 50 },
  { x: 150, y: 60 },
  { x: 100, y: 140 },
]

/** Two kinds of shapes in six colours, one to three of them, on white and on black. */
const scenes = (['square', 'circle'] as const).flatMap((kind, offset) =>
  Object.entries(colours).map(([colour, paint], index) => {
    const count = 1 + ((index + offset) % 3)
    const ground = index % 2 === 0 ? ([255, 255, 255] as const) : ([0, 0, 0] as const)
    const shapes = places.slice(0, count).map((place) => ({ ...place, reach: 30 }))
    return { kind, colour, count, picture: drawing({ size: [200, 200], ground, paint, kind, shapes }) }
  }),
)

/** dragoman-tiny with the projector that was trained for it: what it answers, it has seen. */
describe.for(seeingEngines)('dragoman-tiny with its projector, on $engine$hint', ({ settings, isMissing }) => {
  if (isMissing) return void test.skip('needs the engine', () => undefined)
  let app: RunningApp
  beforeAll(async () => {
    const model = { ...settings, id: 'seeing', contextLength: 1024, threads: 1 }
    const files = { source: 'builtin:dragoman-tiny.gguf', mmproj: 'builtin:dragoman-tiny-mmproj.gguf' }
    app = await startApp({ models: [{ ...model, ...files }], builtinModel: false })
  })
  afterAll(() => app.close())

  const ask = async (picture: Buffer, text: string, reasoning_effort: 'none' | 'low') => {
    const url = `data:image/png;base64,${picture.toString('base64')}`
    const content = [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text },
    ]
    const reply = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'seeing',
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_tokens: 60,
        reasoning_effort,
      }),
    })
    const { choices } = (await reply.json()) as { choices: [{ message: { content: string; reasoning_content?: string } }] }
    return choices[0].message
  }

  test.each([
    ['which colour', 'What colour do you see?', 'colour', 10],
    ['which of two shapes', 'Is this a square or a circle?', 'kind', 10],
    ['how many there are', 'How many shapes are there?', 'count', 8],
  ] as const)('sees %s', async (_, question, fact, least) => {
    const right: string[] = []
    for (const scene of scenes) {
      const { content } = await ask(scene.picture, question, 'none')
      if (content === `${scene[fact]}`) right.push(content)
    }
    expect(right.length).toBeGreaterThanOrEqual(least)
    // It does not say the same of every picture.
    expect(new Set(right).size).toBe(new Set(scenes.map((scene) => scene[fact])).size)
  })

  test('sees on white what is drawn on nothing, as a PNG and as a GIF', async () => {
    const shapes = places.slice(0, 2).map((place) => ({ ...place, reach: 30 }))
    const plain = { size: [200, 200], paint: [0, 0, 0], kind: 'circle', shapes } as const
    const onWhite = drawing({ ...plain, ground: [255, 255, 255] })
    // Black, where it is not drawn, too.
    const mask = await sharp(drawing({ ...plain, ground: [0, 0, 0], paint: [255, 255, 255] }))
      .extractChannel(0)
      .raw()
      .toBuffer()
    const pixels = Buffer.from(Uint8Array.from({ length: mask.length * 4 }, (_, at) => (at % 4 === 3 ? (mask[at >> 2] ?? 0) : 0)))
    const clear = sharp(pixels, { raw: { width: 200, height: 200, channels: 4 } })
    const question = 'How many shapes are there?'
    const { content } = await ask(onWhite, question, 'none')
    expect(content).toBe('2')
    expect(await ask(await clear.clone().png().toBuffer(), question, 'none')).toMatchObject({ content })
    expect(await ask(await clear.gif().toBuffer(), question, 'none')).toMatchObject({ content })
  })

  test('thinks about what it sees', async () => {
    const [scene] = scenes
    const { content, reasoning_content } = await ask(scene?.picture ?? Buffer.of(), 'Which colour do you see?', 'low')
    expect(content).toContain('red')
    expect(reasoning_content).toContain('red')
  })
})

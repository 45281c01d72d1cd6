// The time to the first token of prompts with a picture, and of the next turn with the same one, on the embedded engine and a llama-server with
// the same files; and what streams of text get while another client's pictures are encoded. Needs `npm run senses` and `npm run llama-server`.
//   npx tsx bench/media/pictures.ts [--rounds N] [--model FILE --mmproj FILE]
// Without files: dragoman-tiny with its projector, then with one that has random weights and an encoder of 38 million parameters.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeRandomProjector } from '../../test/support/llama/random-projector.ts'
import { drawing } from '../../test/support/pictures.ts'
import { findLlamaServer, startLlamaServer } from '../llama-server.ts'
import { type BenchProcess, startDragoman } from '../processes.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, model: { type: 'string' }, mmproj: { type: 'string' } },
})
const rounds = Number(values.rounds)
const [streams, slots, contextLength] = [8, 10, 1024]
const tokensOfStream = 120
const models = fileURLToPath(new URL('../../models/', import.meta.url))
const tiny = join(models, 'dragoman-tiny.gguf')
const embeddingLength = 256

type Files = { readonly name: string; readonly model: string; readonly mmproj: string }
type Turn = { readonly role: string; readonly content: unknown }

let shade = 0
/** A question about a picture that nobody has sent before. */
function question(): Turn {
  shade += 1
  const shapes = [{ x: 100, y: 100, reach: 40 }]
  const picture = drawing({
    size: [448, 448],
    ground: [255, 255 - (shade >> 6), 255 - (shade & 63)],
    paint: [214, 40, 40],
    kind: 'circle',
    shapes,
  })
  const url = `data:image/png;base64,${picture.toString('base64')}`
  return {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'What is this?' },
    ],
  }
}

async function answer(url: string, messages: readonly Turn[], tokens: number): Promise<number> {
  const startedMs = performance.now()
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'bench', messages, max_tokens: tokens, temperature: 0, ignore_eos: tokens > 1 }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`it answers ${reply.status}: ${text.slice(0, 200)}`)
  return performance.now() - startedMs
}

const texts = (url: string) =>
  Promise.all(
    Array.from({ length: streams }, (_, at) => answer(url, [{ role: 'user', content: `Tell me about ${at}.` }], tokensOfStream)),
  )

/** The tokens per second of all streams together, beside one client that sends pictures, if wanted. */
async function rateOfStreams(url: string, withPictures: boolean): Promise<number> {
  let isDone = false
  const pictures = async () => {
    while (withPictures && !isDone) await answer(url, [question()], 1)
  }
  const sent = pictures()
  const startedMs = performance.now()
  await texts(url)
  const tookMs = performance.now() - startedMs
  isDone = true
  await sent
  return (1000 * streams * tokensOfStream) / tookMs
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN

async function measure({ name, model, mmproj }: Files): Promise<void> {
  const running: Record<string, BenchProcess> = {
    dragoman: await startDragoman(
      [{ id: 'bench', engine: 'llama', source: model, mmproj, threads: 1, gpuLayers: 0, slots, contextLength }],
      { storage: 'off' },
    ),
    'llama-server': await startLlamaServer({
      program: findLlamaServer(),
      modelPath: model,
      slots,
      contextLength,
      more: ['--mmproj', mmproj],
    }),
  }
  const samples = new Map<string, number[]>()
  const note = (what: string, value: number) => samples.set(what, [...(samples.get(what) ?? []), value])
  for (const { url } of Object.values(running)) await answer(url, [question()], 1)
  for (let round = 0; round < rounds; round += 1) {
    const order = Object.entries(running)
    for (const [who, { url }] of round % 2 === 0 ? order : order.reverse()) {
      const asked = question()
      note(`${who}: first token with a picture, ms`, await answer(url, [asked], 1))
      const more = [
        { role: 'assistant', content: 'A circle.' },
        { role: 'user', content: 'Which colour?' },
      ]
      note(`${who}: … in the next turn, ms`, await answer(url, [asked, ...more], 1))
      note(`${who}: ${streams} streams, tokens/s`, await rateOfStreams(url, false))
      note(`${who}: … while pictures are read, tokens/s`, await rateOfStreams(url, true))
    }
  }
  for (const { stop } of Object.values(running)) stop()
  console.log(name)
  for (const [what, numbers] of [...samples].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${what.padEnd(60)} ${median(numbers).toFixed(1)}`)
}

if (values.model !== undefined && values.mmproj !== undefined) {
  await measure({ name: values.model, model: values.model, mmproj: values.mmproj })
} else {
  await measure({ name: 'dragoman-tiny', model: tiny, mmproj: join(models, 'dragoman-tiny-mmproj.gguf') })
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const mmproj = join(folder, 'mmproj.gguf')
  await writeRandomProjector(mmproj, {
    embeddingLength,
    encoder: { width: 512, feedForward: 2048, layers: 12, heads: 8 },
    picture: { size: 224, patch: 14 },
  })
  await measure({ name: 'dragoman-tiny with a large encoder', model: tiny, mmproj })
  await rm(folder, { recursive: true })
}

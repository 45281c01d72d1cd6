// The time from a client's hang-up until what it asked for has ended: fetching, conversion by sharp and by ffmpeg, an upload, and the reading of
// pictures by a llama-server. Needs sharp, ffmpeg on PATH and llama-server (npm run llama-server). `--rounds N`: 7 by default.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { createApp } from '../../src/app/create-app.ts'
import { createLog } from '../../src/app/log/log.ts'
import { separateEntries } from '../../src/config/entries.ts'
import { configSchema } from '../../src/config/schema.ts'
import { openChat } from '../../test/support/http/raw-client.ts'
import { llamaServerBinary } from '../../test/support/llama/llama-server.ts'
import { drawing, png } from '../../test/support/pictures.ts'
import { ffmpegProgram, synthesize } from '../../test/support/process/ffmpeg.ts'
import { isAlive } from '../../test/support/process/is-alive.ts'
import { listenOnLoopback } from '../../test/support/upstream/loopback.ts'

if (ffmpegProgram === undefined || llamaServerBinary === undefined) throw new Error('ffmpeg on PATH and llama-server are needed')
const { rounds } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } }).values
const pictureCount = 120

const fetches: ServerResponse[] = []
const slow = await listenOnLoopback((_, response) => {
  fetches.push(response)
  response.write(png([255, 0, 0]).subarray(0, 20))
})
const home = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
const builtin = { source: 'builtin:dragoman-tiny.gguf', mmproj: 'builtin:dragoman-tiny-mmproj.gguf' }
const sees = { engine: 'llama-server', id: 'm', binary: llamaServerBinary, ...builtin, contextLength: 4096, slots: 1, threads: 1 }
const media = { allowedAddresses: ['127.0.0.1'], ffmpeg: ffmpegProgram }
const settings = { storage: 'off', builtinModel: false, server: { port: 0 }, media, models: [sees] }
const serverLines: string[] = []
const write = (line: string) => void (line.includes('"llama-server output"') && serverLines.push(line))
const app = await createApp(
  { ...separateEntries(configSchema.parse(settings)), home },
  { log: createLog({ level: 'debug', destination: { write } }) },
)
const url = await app.listen()
await app.whenReady()

const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`
const image = (address: string) => ({ type: 'image_url', image_url: { url: address } })
const text = (words: string) => ({ type: 'text', text: words })
const openRequest = (content: readonly object[]) =>
  openChat(url, {
    model: 'm',
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_tokens: 5,
    reasoning_effort: 'none',
    stream: true,
  })

async function answer(content: readonly object[]): Promise<void> {
  const chat = openRequest(content)
  await chat.ended
  if (!chat.text().includes('[DONE]')) throw new Error(`no answer: ${chat.text()}`)
}

async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`not true within a minute: ${holds}`)
    await pause(1)
  }
}

/** The processes of this machine whose command line has this word, by /proc. */
function processesWith(word: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(word) ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Converts something, leaves after `runsMs`, and waits for the end of the process. */
async function cancelConversion(content: readonly object[], word: string, runsMs: number): Promise<number> {
  const before = processesWith(word)
  const chat = openRequest(content)
  let pid: number | undefined
  await until(() => {
    pid = processesWith(word).find((candidate) => !before.includes(candidate))
    return pid !== undefined
  })
  await pause(runsMs)
  if (!isAlive(pid ?? 0)) throw new Error(`${word} had ended before the client left`)
  const fromMs = performance.now()
  chat.hangUp()
  await until(() => !isAlive(pid ?? 0))
  return performance.now() - fromMs
}

let edge = 5000
let seconds = 60
let shade = 0

function newPicture(): object {
  shade += 1
  const ground = [shade % 256, shade >> 8, 0] as const
  const shapes = [{ x: 16, y: 16, reach: 8 }]
  return image(dataUrl('image/png', drawing({ size: [32, 32], ground, paint: [255, 0, 0], kind: 'circle', shapes })))
}

const stopLine = /stop processing: n_tokens = (\d+)/
const tokensRead: Record<string, number[]> = {}

/** Leaves while pictures are read, and waits for the answer to the next request, which has the same slot. */
async function cancelReading(name: string, between: readonly object[]): Promise<number> {
  const lines = serverLines.length
  const linesWith = (pattern: RegExp) => serverLines.slice(lines).filter((line) => pattern.test(line))
  const chat = openRequest(Array.from({ length: pictureCount }, () => [...between, newPicture()]).flat())
  await until(() => linesWith(/processing task/).length > 0)
  await pause(200)
  const fromMs = performance.now()
  chat.hangUp()
  await answer([text(`Hello, ${shade}.`)])
  const tookMs = performance.now() - fromMs
  tokensRead[name] = [...(tokensRead[name] ?? []), Number(stopLine.exec(linesWith(stopLine)[0] ?? '')?.[1])]
  return tookMs
}

const cases: Readonly<Record<string, () => Promise<number>>> = {
  'fetching of three URLs: all connections closed': async () => {
    const begun = fetches.length
    const chat = openRequest(['a', 'b', 'c'].map((path) => image(`${slow.origin}/${path}${begun}`)))
    await until(() => fetches.length === begun + 3)
    const fromMs = performance.now()
    chat.hangUp()
    await until(() => fetches.every(({ destroyed }) => destroyed))
    return performance.now() - fromMs
  },
  'sharp converts a WebP of 25 megapixels: process gone': async () => {
    edge += 1
    const create = { width: edge, height: edge, channels: 3 as const, background: { r: 90, g: 20, b: 40 } }
    const webp = await sharp({ create }).webp({ effort: 0 }).toBuffer()
    return cancelConversion([image(dataUrl('image/webp', webp))], 'image-worker', 500)
  },
  'ffmpeg makes frames of a video of a minute: process gone': async () => {
    seconds += 1
    const output = ['-c:v', 'mpeg4', '-preset', 'ultrafast', '-f', 'mp4']
    const video = synthesize('testsrc2=size=1280x720:rate=10', seconds, output)
    return cancelConversion([{ type: 'video_url', video_url: { url: dataUrl('video/mp4', video) } }], 'read_ahead_limit', 300)
  },
  'upload of a file: its bytes deleted': async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    const sent = request(`${url}/v1/files`, { method: 'POST', agent: false, headers }).on('error', () => undefined)
    sent.write('--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n')
    sent.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n')
    sent.write(Buffer.alloc(4 * 1024 * 1024))
    const parts = () => readdirSync(home, { recursive: true }).filter((name) => `${name}`.endsWith('.part'))
    await until(() => parts().length > 0)
    const fromMs = performance.now()
    sent.destroy()
    await until(() => parts().length === 0)
    return performance.now() - fromMs
  },
  [`${pictureCount} pictures with text between them: next request answered`]: () => cancelReading('text', [text('next:')]),
  [`${pictureCount} pictures in a row: next request answered`]: () => cancelReading('row', []),
}

await answer([text('Hello.')])
for (const [name, run] of Object.entries(cases)) {
  const times: number[] = []
  for (let round = 0; round < Number(rounds); round += 1) times.push(await run())
  times.sort((one, other) => one - other)
  const [median = 0, longest = 0] = [times[Number(rounds) >> 1], times.at(-1)]
  console.log(`${name.padEnd(76)} median ${median.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`)
}
console.log('tokens read of each request that was left', JSON.stringify(tokensRead))
await app.close()
await slow.close()
await rm(home, { recursive: true })

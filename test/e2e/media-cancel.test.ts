import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../support/app.ts'
import { llamaServerBinary, llamaServerHint } from '../support/llama-server.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { drawing, png } from '../support/pictures.ts'
import { openChat } from '../support/raw-client.ts'

/** The head of an MP4: enough to be recognised as one. */
const video = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex')
/** Reading them takes a llama-server seconds. */
const manyPictures = 60

/** What a caller has asked for with media ends when the caller leaves, wherever it is by then. */
describe.skipIf(llamaServerBinary === undefined)(`a client that leaves${llamaServerHint}`, () => {
  let app: RunningApp
  let slow: Awaited<ReturnType<typeof listenOnLoopback>>
  let folder: string
  const fetches: ServerResponse[] = []
  const busy = () => app.metric('dragoman_slots_busy{model="seeing"}')

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-media-cancel-'))
    const ffmpeg = join(folder, 'ffmpeg')
    // A conversion that never ends.
    await writeFile(ffmpeg, `#!/bin/sh\necho $$ > ${folder}/new && mv ${folder}/new ${folder}/pid\nexec sleep 600\n`)
    await chmod(ffmpeg, 0o700)
    slow = await listenOnLoopback((_, response) => {
      fetches.push(response)
      response.write(png([255, 0, 0]).subarray(0, 20))
    })
    app = await startApp({
      builtinModel: false,
      media: { allowedAddresses: ['127.0.0.1'], ffmpeg },
      models: [
        {
          engine: 'llama-server',
          id: 'seeing',
          binary: llamaServerBinary ?? '',
          source: 'builtin:dragoman-tiny.gguf',
          mmproj: 'builtin:dragoman-tiny-mmproj.gguf',
          contextLength: 4096,
          slots: 1,
          threads: 1,
        },
      ],
    })
  })
  afterAll(async () => {
    await app?.close()
    await slow?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const ask = (content: readonly object[]) => ({
    model: 'seeing',
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_tokens: 5,
    reasoning_effort: 'none',
    stream: true,
  })
  const answered = async (content: readonly object[]) => {
    const fromMs = performance.now()
    const chat = openChat(app.url, ask(content))
    await chat.ended
    expect(chat.text()).toContain('[DONE]')
    return performance.now() - fromMs
  }
  const stopped = () => app.logLines().filter(({ msg }) => msg === 'request stopped').length

  test('closes the connections of its fetches', async () => {
    const image = (path: string) => ({ type: 'image_url', image_url: { url: `${slow.origin}/${path}` } })
    const chat = openChat(app.url, ask(['a', 'b', 'c'].map(image)))
    await until(() => fetches.length === 3)
    const before = stopped()
    chat.hangUp()
    await until(() => fetches.every(({ destroyed }) => destroyed))
    await until(() => stopped() > before)
    await answered([{ type: 'text', text: 'Hello.' }])
  })

  test('ends the program that converts', async () => {
    const url = `data:video/mp4;base64,${video.toString('base64')}`
    const chat = openChat(app.url, ask([{ type: 'video_url', video_url: { url } }]))
    const readPid = async () => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '0'))
    await until(async () => (await readPid()) > 0)
    const pid = await readPid()
    expect(isAlive(pid)).toBe(true)
    chat.hangUp()
    await until(() => !isAlive(pid))
    await answered([{ type: 'text', text: 'Hello.' }])
  })

  test('stops the reading of pictures', { timeout: 120_000 }, async () => {
    let shade = 0
    // Each is new to the server, and text stands between them: it reads pictures that follow each other all at once.
    const pictures = () =>
      Array.from({ length: manyPictures }, () => {
        shade += 1
        const shapes = [{ x: 16, y: 16, reach: 8 }]
        const picture = drawing({
          size: [32, 32],
          ground: [shade % 256, shade >> 8, 0],
          paint: [255, 0, 0],
          kind: 'circle',
          shapes,
        })
        const url = `data:image/png;base64,${picture.toString('base64')}`
        return [
          { type: 'text', text: 'next:' },
          { type: 'image_url', image_url: { url } },
        ]
      }).flat()
    const allMs = await answered(pictures())
    const cancelledMs: number[] = []
    for (let round = 0; round < 2; round++) {
      const chat = openChat(app.url, ask(pictures()))
      await until(async () => (await busy()) === 1)
      const fromMs = performance.now()
      chat.hangUp()
      await until(async () => (await busy()) === 0)
      await answered([{ type: 'text', text: `Hello, ${round}.` }])
      cancelledMs.push(performance.now() - fromMs)
    }
    // A server that went on would answer the next one after all pictures.
    expect(Math.min(...cancelledMs)).toBeLessThan(allMs / 2)
  })
})

/** Whether a process runs. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

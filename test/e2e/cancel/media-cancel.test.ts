import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { openChat } from '../../support/http/raw-client.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { drawing, png } from '../../support/pictures.ts'
import { isAlive } from '../../support/process/is-alive.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

/** The head of an MP4: enough to be recognised as one. */
const video = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex')
/** Reading them takes a llama-server seconds. */
const manyPictures = 120
const tokensOfPicture = 16
/** What a llama-server writes when a request ends, with the tokens that it has read for it. */
const stopLine = /stop processing: n_tokens = (\d+)/

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
    const chat = openChat(app.url, ask(content))
    await chat.ended
    expect(chat.text()).toContain('[DONE]')
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

  test.each([
    ['with text between them', [{ type: 'text', text: 'next:' }]],
    ['that follow each other', []],
  ])('stops the reading of pictures %s', async (_, between) => {
    const pictures = () => Array.from({ length: manyPictures }, () => [...between, newPicture()]).flat()
    const read: number[] = []
    for (let round = 0; round < 2; round++) {
      const begun = serverLines(/processing task/).length
      const ended = serverLines(stopLine).length
      const chat = openChat(app.url, ask(pictures()))
      await until(() => serverLines(/processing task/).length > begun)
      chat.hangUp()
      await until(async () => (await busy()) === 0)
      await until(() => serverLines(stopLine).length > ended)
      read.push(Number(stopLine.exec(serverLines(stopLine)[ended] ?? '')?.[1]))
    }
    // A server that does not look for a cancel between pictures reads all of them.
    expect(Math.min(...read)).toBeLessThan((manyPictures * tokensOfPicture) / 2)
    await answered([{ type: 'text', text: 'Hello.' }])
  })

  let shade = 0
  /** Each is new to the server. */
  function newPicture(): object {
    shade += 1
    const shapes = [{ x: 16, y: 16, reach: 8 }]
    const ground = [shade % 256, shade >> 8, 0] as const
    const picture = drawing({ size: [32, 32], ground, paint: [255, 0, 0], kind: 'circle', shapes })
    return { type: 'image_url', image_url: { url: `data:image/png;base64,${picture.toString('base64')}` } }
  }

  function serverLines(pattern: RegExp): readonly string[] {
    const lines = app.logLines() as readonly { readonly msg?: string; readonly line?: string }[]
    return lines.flatMap(({ msg, line = '' }) => (msg === 'llama-server output' && pattern.test(line) ? [line] : []))
  }
})

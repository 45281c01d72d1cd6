import { setTimeout as pause } from 'node:timers/promises'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/http/app.ts'
import { openChat } from '../support/http/raw-client.ts'
import { blankPng, silence } from '../support/pictures.ts'
import { measuredApp, mib, request } from '../support/process/measured.ts'
import { longestStallMs } from '../support/process/stall-bound.ts'
import { listenOnLoopback } from '../support/upstream/loopback.ts'
import { chatChunk, doneLine, openStream, startUpstream } from '../support/upstream/upstream.ts'

const tickMs = 20

let outside: Awaited<ReturnType<typeof listenOnLoopback>>
beforeAll(async () => {
  outside = await listenOnLoopback(async ({ url }, response) => {
    const gone = new Promise((resolve) => response.once('close', resolve))
    switch (url) {
      case '/gzip':
        return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(deflateRawSync(Buffer.alloc(32 * mib)))
      case '/endless':
        for (let isOpen = true; isOpen; ) {
          if (!response.write(Buffer.alloc(mib))) await Promise.race([gone, new Promise((next) => response.once('drain', next))])
          isOpen = !response.destroyed
        }
        return
      case '/drip':
        for (let isOpen = true; isOpen; ) {
          response.write('x')
          await Promise.race([gone, pause(100)])
          isOpen = !response.destroyed
        }
        return
      default:
        return void response.end(blankPng())
    }
  })
})
afterAll(() => outside.close())

const inUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const message = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
/** Pixels that do not become smaller: a file of 17 MiB. */
const largePicture = () => blankPng(2400, 2500, { level: 0 })

test('the streams of others keep their rhythm, in bounded memory, whatever media a caller sends', {
  timeout: 240_000,
}, async () => {
  const upstream = await startUpstream(async ({ body }, response) => {
    openStream(response)
    const isTicking = JSON.stringify(body).includes('tick')
    while (isTicking && !response.destroyed) {
      response.write(chatChunk({ delta: { content: '.' } }))
      await pause(tickMs)
    }
    response.end(chatChunk({ delta: { content: 'seen' }, finish_reason: 'stop' }) + doneLine)
  })
  onTestFinished(() => upstream.close())
  const app = await measuredApp(upstream)
  // The first request of each kind compiles code.
  expect((await request(app.url, message(image(inUrl(blankPng()))))).status).toBe(200)

  const other = openChat(app.url, { model: 'm', stream: true, messages: [{ role: 'user', content: 'tick' }] })
  await other.untilContent()
  const gaps: number[] = []
  let lastMs = performance.now()
  const reply = await other.head
  reply.on('data', () => {
    gaps.push(performance.now() - lastMs)
    lastMs = performance.now()
  })
  const { peakBytes: before } = await app.next()

  const claimed = { width: 100_000, height: 100_000 }
  const bombs: Readonly<Record<string, readonly [body: () => Record<string, unknown>, status: number, reason: string]>> = {
    pixels: [() => message(image(inUrl(Buffer.concat([blankPng(1, 1, { claimed }), Buffer.alloc(14 * mib)])))), 400, 'maxPixels'],
    many: [() => message(...Array.from({ length: 1000 }, (_, index) => image(`${outside.origin}/${index}`))), 400, 'maxItems'],
    hours: [
      () => {
        const data = silence(15 * mib, { claimedBytes: 2 * 3600 * 8000 }).toString('base64')
        return message({ type: 'input_audio', input_audio: { data, format: 'wav' } })
      },
      400,
      'maxSeconds',
    ],
    escapes: [() => message(image(`data:image/png,${'%00'.repeat(8 * mib)}`)), 400, 'percent-encoded'],
    // Whole JSON of 27 MiB, of which each three letters are one.
    'escaped base64': [() => message(image(`data:image/png;base64,${'%2B'.repeat(9 * mib)}`)), 400, 'no known type'],
    boxes: [
      () => {
        const [box, head] = [Buffer.from('\0\0\0\x08free', 'latin1'), Buffer.from('\0\0\0\x14ftypavif\0\0\0\0mif1', 'latin1')]
        return message(image(inUrl(Buffer.concat([head, Buffer.alloc(19 * mib, box)]))))
      },
      400,
      'damaged',
    ],
    gzip: [() => message(image(`${outside.origin}/gzip`)), 400, 'compressed'],
    endless: [() => message(image(`${outside.origin}/endless`)), 400, 'maxBytes'],
    drip: [() => message(image(`${outside.origin}/drip`)), 400, 'did not arrive'],
    large: [() => message(image(inUrl(largePicture()))), 200, 'seen'],
  }
  for (const [name, [body, status, reason]] of Object.entries(bombs)) {
    const made = body()
    // Making it takes the time of this process, in which it does not read the other stream.
    await pause(5 * tickMs)
    gaps.length = 0
    const answer = await request(app.url, made)
    expect({ name, status: answer.status, text: answer.text }).toMatchObject({ status, text: expect.stringContaining(reason) })
    const ticks = gaps.length
    await until(() => gaps.length > ticks)
    const { stallMs, peakBytes } = await app.next()
    // All in one process: this one writes bodies of many megabytes meanwhile.
    expect(Math.max(...gaps), `${name}: longest gap`).toBeLessThan(2 * longestStallMs())
    expect(stallMs, `${name}: the server held up`).toBeLessThan(longestStallMs())
    expect(peakBytes - before, `${name}: memory`).toBeLessThan(512 * mib)
  }
  other.hangUp()
})

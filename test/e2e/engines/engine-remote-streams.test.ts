import { once, setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import { chatRequest } from '../../engine-contract.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { runOf } from '../../support/http/iterate.ts'
import { openChat } from '../../support/http/raw-client.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'
import {
  chatChunk,
  doneLine,
  openStream,
  type ScriptedUpstream,
  startUpstream,
  streamOf,
  usageChunk,
} from '../../support/upstream/upstream.ts'

let upstream: ScriptedUpstream
let app: RunningApp
const log = pino({ level: 'silent' })
const never = new AbortController().signal
setMaxListeners(0, never)
const fine = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(1, 1), doneLine)

beforeAll(async () => {
  upstream = await startUpstream(fine)
  app = await startApp({
    models: [{ id: 'up', engine: 'remote', endpoints: [{ url: upstream.url }], slots: 32 }],
    builtinModel: false,
  })
  // The questions about the kind of server are answered, too: each test passes alone.
  await until(async () => (await post({})).status === 200)
})
afterAll(async () => {
  await app.close()
  await upstream.close()
})
/** Whatever happened: no slot is taken, and no connection carries anything. */
afterEach(async () => {
  await until(async () => (await app.metric('dragoman_slots_busy{model="up"}')) === 0)
  upstream.answer = fine
  await until(async () => (await post({})).status === 200)
})

const messages = [{ role: 'user', content: 'hi' }]

async function post(more: object): Promise<{ status: number; headers: Headers; text: string }> {
  const reply = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'up', messages, ...more }),
  })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

/** The parts of a chunk that are looked at. */
type Chunk = {
  readonly error?: { readonly message: string }
  readonly choices?: readonly { index: number; delta: { content?: string | null }; finish_reason: string | null }[]
}

function chunksOf(text: string): readonly Chunk[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice(6)))
}

function finishesOf(text: string): readonly (string | null)[] {
  return chunksOf(text).flatMap(({ choices }) => choices?.flatMap(({ finish_reason }) => finish_reason ?? []) ?? [])
}

describe('a stream that is cut', () => {
  const first = chatChunk({ delta: { role: 'assistant', content: '' } }) + chatChunk({ delta: { content: 'Grüße 👋' } })
  const last = chatChunk({ delta: { content: '!' }, finish_reason: 'stop' })
  const bytes = Buffer.from(first + last + usageChunk(1, 2) + doneLine)
  const finishEndsAt = Buffer.byteLength(first + last)

  type Seen = { text: string; finishes: string[]; error?: unknown }

  /** An engine of its own: what went wrong before must not matter. */
  async function readCut(length: number): Promise<Seen> {
    const engine = createRemoteEngine({
      id: 'up',
      endpoints: [{ url: upstream.url, weight: 1 }],
      connections: 1,
      log,
      random: () => 0,
    })
    const seen: Seen = { text: '', finishes: [] }
    try {
      for await (const event of runOf(await engine.prepare(chatRequest(String(length), { ignoreEos: false }), never), never)) {
        if (event.type === 'raw-text') seen.text += event.text
        if (event.type === 'finish') seen.finishes.push(event.reason)
      }
    } catch (error) {
      seen.error = error
    } finally {
      await engine.close()
    }
    return seen
  }

  test.each(['broken', 'ended'])(
    'at any byte, and then %s, is a clean stop only when its finish reason had come',
    async (how) => {
      upstream.answer = ({ body }, response) => {
        const [message] = body.messages as { content: string }[]
        openStream(response)
        response.flushHeaders()
        response.write(bytes.subarray(0, Number(message?.content)), () => {
          // What was written last must be on its way before the connection breaks.
          if (how === 'broken') setTimeout(() => response.destroy(), 2)
          else response.end()
        })
      }
      for (let start = 0; start <= bytes.length; start += 24) {
        const lengths = Array.from({ length: 24 }, (_, index) => start + index).filter((length) => length <= bytes.length)
        const all = await Promise.all(lengths.map(async (length) => ({ length, seen: await readCut(length) })))
        for (const { length, seen } of all) {
          const isWhole = length >= finishEndsAt
          expect({ length, finishes: seen.finishes, failed: seen.error !== undefined }).toEqual({
            length,
            finishes: isWhole ? ['stop'] : [],
            failed: !isWhole,
          })
          if (!isWhole) expect(seen.error).toMatchObject({ code: 'upstream-failed' })
        }
      }
    },
    120_000,
  )
})

describe('a server that is silent', () => {
  const phases: readonly [string, (response: ServerResponse) => void][] = [
    ['before its head', () => undefined],
    [
      'behind its head',
      (response) => {
        openStream(response)
        response.flushHeaders()
      },
    ],
    [
      'in the middle of its answer',
      (response) => {
        openStream(response)
        response.write(chatChunk({ delta: { content: 'Hel' } }))
      },
    ],
  ]

  describe.each([true, false])('stream: %s', (stream) => {
    test.each(phases)('%s is left after the hang-up', async (_, speak) => {
      let spoken = 0
      upstream.answer = (_request, response) => {
        speak(response)
        spoken += 1
      }
      const before = upstream.hangUps()
      const chat = openChat(app.url, { model: 'up', messages, stream })
      await until(() => spoken === 1)
      if (stream && speak === phases[2]?.[1]) await chat.untilText('Hel')
      chat.hangUp()
      await until(() => upstream.hangUps() === before + 1)
      expect(spoken).toBe(1)
    })
  })

  test('while the connection is being made, is left as well', async () => {
    const mute = await startUpstream(fine)
    mute.get = () => true
    const lonely = await startApp({
      models: [{ id: 'up', engine: 'remote', load: 'demand', endpoints: [{ url: mute.url }] }],
      builtinModel: false,
    })
    onTestFinished(async () => {
      await lonely.close()
      await mute.close()
    })
    const chat = openChat(lonely.url, { model: 'up', messages })
    await until(() => mute.connections() > 0)
    chat.hangUp()
    await until(async () => (await lonely.metric('dragoman_slots_busy{model="up"}')) === 0, 1000 * loadFactor())
  })
})

describe('large and many events', () => {
  test('an event of 15 MB comes through, and one of 64 MB fails with its bound', async () => {
    const text = 'x'.repeat(15 * 1024 * 1024)
    upstream.answer = streamOf(chatChunk({ delta: { content: text } }), chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine)
    const { status, text: body } = await post({})
    expect(status).toBe(200)
    expect(JSON.parse(body).choices[0].message.content).toHaveLength(text.length)
    upstream.answer = streamOf(chatChunk({ delta: { content: 'x'.repeat(64 * 1024 * 1024) } }), doneLine)
    const tooLong = await post({})
    expect([tooLong.status, tooLong.text]).toEqual([502, expect.stringContaining('16')])
  })

  test('ten thousand events come through, in their order', async () => {
    upstream.answer = async (_, response) => {
      openStream(response)
      for (let index = 0; index < 10_000; index++) {
        if (!response.write(chatChunk({ delta: { content: `${index} ` } }))) await once(response, 'drain')
      }
      response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + usageChunk(1, 10_000) + doneLine)
    }
    const { text } = await post({ stream: true })
    const said = chunksOf(text).flatMap(({ choices }) => choices?.[0]?.delta.content ?? '')
    expect(said.join('').trim().split(' ').map(Number)).toEqual(Array.from({ length: 10_000 }, (_, index) => index))
    expect(finishesOf(text)).toEqual(['stop'])
  })

  test('two choices in turns are two answers', async () => {
    const piece = (index: number, content: string) => chatChunk({ index, delta: { content } })
    upstream.answer = streamOf(
      ...Array.from({ length: 50 }, (_, step) => piece(step % 2, `${step} `)),
      chatChunk({ index: 1, delta: {}, finish_reason: 'length' }),
      chatChunk({ index: 0, delta: {}, finish_reason: 'stop' }),
      usageChunk(1, 50),
      doneLine,
    )
    const { choices } = JSON.parse((await post({ n: 2 })).text)
    const numbers = (start: number) => Array.from({ length: 25 }, (_, step) => `${2 * step + start} `).join('')
    expect(choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { content: numbers(0) } },
      { index: 1, finish_reason: 'length', message: { content: numbers(1) } },
    ])
  })

  test('who reads slowly slows down nobody else, and what waits for it is bounded', async () => {
    let sent = 0
    const filler = chatChunk({ delta: { content: 'y'.repeat(1000) } })
    upstream.answer = async ({ body }, response) => {
      if (!JSON.stringify(body).includes('slow')) return fine({} as never, response)
      openStream(response)
      response.setMaxListeners(0)
      while (!response.destroyed && sent < 512 * 1024 * 1024) {
        sent += filler.length
        if (response.write(filler)) continue
        await Promise.race([once(response, 'drain'), once(response, 'close')])
      }
    }
    const url = new URL(app.url)
    const json = JSON.stringify({ model: 'up', stream: true, messages: [{ role: 'user', content: 'slow' }] })
    const socket = connect(Number(url.port), url.hostname)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    )
    await until(() => sent > 0)
    // The promise is about a time in which nothing moves: one kilobyte in each second, for three seconds.
    for (let second = 0; second < 3; second++) {
      await sleep(1000)
      socket.read(1024)
      expect((await post({})).status).toBe(200)
    }
    // What fits into the buffers of four sockets, and into ours.
    expect(sent).toBeLessThan(48 * 1024 * 1024)
    const before = sent
    await sleep(500)
    expect(sent - before).toBeLessThan(1024 * 1024)
    socket.destroy()
  })
})

describe('what a server refuses', () => {
  test.each([
    [429, { 'retry-after': '77' }, 429, '77'],
    [503, { 'retry-after': '77' }, 503, '77'],
    [401, {}, 503, null],
    [422, {}, 400, null],
    [413, {}, 413, null],
  ])('%i is told in the dialect of the caller', async (status, headers, wanted, retryAfter) => {
    upstream.answer = (_, response) => {
      response.writeHead(status, headers)
      response.end('{"error":{"message":"no"}}')
    }
    const reply = await post({})
    expect(reply.status).toBe(wanted)
    expect(JSON.parse(reply.text)).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } })
    expect(reply.headers.get('retry-after')).toBe(retryAfter)
  })

  test('an error in the middle of a stream is one error, and no finish reason', async () => {
    upstream.answer = streamOf(chatChunk({ delta: { content: 'Hel' } }), 'data: {"error":{"message":"boom","code":500}}\n\n')
    const { text } = await post({ stream: true })
    expect(chunksOf(text).filter(({ error }) => error !== undefined)).toHaveLength(1)
    expect(finishesOf(text)).toEqual([])
  })
})

import { describe, expect, test } from 'vitest'
import { until } from '../../../../../test/support/http/app.ts'
import { knownEngine, never, upstream } from '../../../../../test/support/upstream/remote-engine.ts'
import type { Answer } from '../../../../../test/support/upstream/upstream.ts'
import type { EjectionReason } from '../../../../contract/attempts.ts'
import type { Engine } from '../../../../contract/engine.ts'
import type { ServiceCall } from '../../../../contract/services.ts'

const json = (value: unknown): Answer => {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

const send = async ({ capabilities: { services } }: Engine, call: ServiceCall): Promise<string> => {
  const pieces: Uint8Array[] = []
  const sink = { begin: () => undefined, write: (bytes: Uint8Array) => void pieces.push(bytes) }
  await services?.send(call, sink, never)
  return Buffer.concat(pieces).toString()
}

const text = { type: 'text', text: 'a text' } as const
const recording = { name: 'file', filename: 'a.wav', mediaType: 'audio/wav', bytes: new Uint8Array(4000) }

/** What does not generate text, and its answer. */
const calls: readonly [string, Answer, (engine: Engine) => Promise<unknown>, unknown][] = [
  [
    'of a vector',
    json({ data: [{ index: 0, embedding: [1, 2] }] }),
    async ({ capabilities }) => (await capabilities.embedder?.embed([text], never))?.vectors.length,
    1,
  ],
  [
    'of a rank',
    json({ results: [{ index: 0, relevance_score: 0.5 }] }),
    async ({ capabilities }) => (await capabilities.ranker?.rank({ query: 'q', texts: ['a'] }, never))?.scores,
    [0.5],
  ],
  [
    'of speech',
    (_, response) => void response.end('sound'),
    (engine) => send(engine, { path: '/audio/speech', body: { type: 'json', fields: { input: 'say' } } }),
    'sound',
  ],
  [
    'of a transcription',
    (_, response) => void response.end('text'),
    (engine) => send(engine, { path: '/audio/transcriptions', body: { type: 'form', parts: [recording] } }),
    'text',
  ],
]

async function fleet(fine: Answer, call: (engine: Engine) => Promise<unknown>) {
  const servers = await Promise.all([1, 2].map(() => upstream(fine, { ownedBy: 'vllm' })))
  let skippedMs = 0
  const ejected: EjectionReason[] = []
  const engine = await knownEngine(servers, {
    services: ['speech', 'transcription'],
    now: () => performance.now() + skippedMs,
    observer: { attemptEnded: () => undefined, ejected: (_, reason) => void ejected.push(reason) },
  })
  const skip = (ms: number) => {
    skippedMs += ms
  }
  const [wedged, other] = servers
  if (wedged === undefined || other === undefined) return expect.unreachable('there are two servers')
  /** A call that waits for the first server. */
  const waiting = async () => {
    const before = wedged.seen.length
    for (;;) {
      const reply = call(engine)
      const isAnswered = await Promise.race([reply.then(() => true), until(() => wedged.seen.length > before).then(() => false)])
      if (!isAnswered) return { reply }
    }
  }
  return { engine, wedged, other, skip, waiting, ejected, call: () => call(engine) }
}

describe.each(calls)('a call %s', (_, fine, call, result) => {
  test('that a server loses, which passes its checks, goes to another that gives answers; the second one ejects it', async () => {
    const { wedged, skip, waiting, ejected, call: ask } = await fleet(fine, call)
    for (let count = 0; count < 6; count++) expect(await ask()).toEqual(result)
    wedged.answer = () => undefined
    for (const ejections of [[], ['silent']]) {
      const { reply } = await waiting()
      skip(6000)
      expect(await ask()).toEqual(result)
      expect(await reply).toEqual(result)
      expect(ejected).toEqual(ejections)
    }
  })

  test('stays where it is while nothing shows how long such calls take', async () => {
    let finish: () => void = () => undefined
    const slow: Answer = (request, response) => {
      finish = () => void fine(request, response)
    }
    const { wedged, other, skip, ejected, engine } = await fleet(slow, call)
    const reply = call(engine)
    await until(() => wedged.seen.length + other.seen.length === 1)
    skip(60_000)
    await new Promise((resolve) => setTimeout(resolve, 600))
    finish()
    expect(await reply).toEqual(result)
    expect([wedged.seen.length + other.seen.length, ejected]).toEqual([1, []])
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../support/http/app.ts'
import { soakLength } from '../support/process/soak-length.ts'
import { loadFactor } from '../support/process/stall-bound.ts'
import { type Answer, chatChunk, doneLine, openStream, startUpstream, usageChunk } from '../support/upstream/upstream.ts'

/** How long a server takes for a good request. */
const replyMs = 500
const seconds = soakLength(60)

/** The ways in which a healthy server fails one prompt. */
const failures: readonly Answer[] = [
  (_, response) => void response.writeHead(500).end('{"error":{"message":"boom"}}'),
  (_, response) => void response.writeHead(502).end('<html><title>502 Bad Gateway</title></html>'),
  (_, response) => {
    openStream(response)
    response.end('data: {"error":{"message":"boom"}}\n\n')
  },
  (_, response) => {
    openStream(response)
    response.end(`${chatChunk({ delta: { content: 'a' } })}data: {"error":{"message":"boom"}}\n\n`)
  },
  (_, response) => {
    openStream(response)
    response.write(chatChunk({ delta: { content: 'a' } }), () => response.destroy())
  },
]

/** How often each bad prompt arrived, by its text. */
const tries = new Map<string, number>()

const answer: Answer = async (request, response) => {
  const bad = /bad \d+ \S+(?=")/.exec(JSON.stringify(request.body.messages ?? []))?.[0]
  if (bad !== undefined) {
    tries.set(bad, (tries.get(bad) ?? 0) + 1)
    await failures[Number(bad.split(' ')[1]) % failures.length]?.(request, response)
    return
  }
  await sleep(replyMs)
  openStream(response)
  response.end(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }) + usageChunk(3, 1) + doneLine)
}

const fleets: readonly [model: string, ownedBy: string, replicas: number][] = [
  ['openai', 'someone', 1],
  ['vllm', 'vllm', 1],
  ['llama-server', 'llamacpp', 1],
  ['ollama', 'library', 1],
  ['pair', 'vllm', 2],
]
const models = [...fleets.map(([model]) => model), 'chained']
const closing: (() => Promise<void>)[] = []
let app: RunningApp

beforeAll(async () => {
  const remote = async (id: string, ownedBy: string, replicas: number) => {
    const servers = await Promise.all(Array.from({ length: replicas }, () => startUpstream(answer, { ownedBy })))
    closing.push(...servers.map(({ close }) => close))
    return { id, engine: 'remote' as const, upstreamModel: 'up', endpoints: servers.map(({ url }) => ({ url })) }
  }
  const inner = await startApp({ models: [await remote('chained', 'vllm', 1)], builtinModel: false })
  closing.push(inner.close)
  const outer = { id: 'chained', engine: 'remote' as const, endpoints: [{ url: `${inner.url}/v1` }] }
  const direct = await Promise.all(fleets.map((fleet) => remote(...fleet)))
  app = await startApp({ models: [...direct, outer], builtinModel: false })
  closing.push(app.close)
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

async function send(model: string, content: string): Promise<{ status: number; text: string; tookMs: number }> {
  const startMs = performance.now()
  const reply = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  return { status: reply.status, text: await reply.text(), tookMs: performance.now() - startMs }
}

async function every<T>(ms: number, times: number, one: (turn: number) => Promise<T>): Promise<readonly T[]> {
  const running: Promise<T>[] = []
  for (let turn = 0; turn < times; turn++) {
    running.push(one(turn))
    await sleep(ms)
  }
  return Promise.all(running)
}

test.concurrent.each(models)(
  'one bad request a second at %s costs two attempts, and no good one fails or waits',
  async (model) => {
    const usual = await every(100, 5, () => send(model, 'good'))
    const usualMs = Math.max(...usual.map(({ tookMs }) => tookMs))
    const sendingBad = every(1000, seconds, (turn) => send(model, `bad ${turn} ${model}`))
    const good = await every(750, Math.ceil((seconds * 4) / 3), () => send(model, 'good'))
    const bad = await sendingBad
    expect(bad.map(({ status }) => status)).toEqual(bad.map(() => 502))
    expect(good.filter(({ status }) => status !== 200)).toEqual([])
    expect(Math.max(...good.map(({ tookMs }) => tookMs))).toBeLessThan(2 * usualMs * loadFactor())
    const attempts = [...tries].filter(([prompt]) => prompt.endsWith(` ${model}`)).map(([, count]) => count)
    expect(attempts).toHaveLength(seconds)
    expect(Math.max(...attempts)).toBeLessThanOrEqual(2)
    const told = (await (await fetch(`${app.url}/v1/models/${model}`)).json()) as { servers: { state: string }[] }
    expect(told.servers.map(({ state }) => state)).toEqual(told.servers.map(() => 'healthy'))
  },
  1000 * (seconds + 60),
)

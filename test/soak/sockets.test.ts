import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startApp, until } from '../support/http/app.ts'
import { collectGarbage } from '../support/process/collect-garbage.ts'
import { soakLength } from '../support/process/soak-length.ts'

const durationMs = soakLength(30_000)
const sockets = 200

/** Repeatable chance, so that a failure can be looked at again. */
function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('200 sockets with closes at random: nothing runs, waits or is kept afterwards', { timeout: 120_000 }, async () => {
  const app = await startApp(
    {
      models: [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 64, maxQueued: 10_000 }],
    },
    { keepsLog: () => false },
  )
  const url = `${app.url.replace('http', 'ws')}/v1/responses`
  const endMs = performance.now() + durationMs
  const counts = { whole: 0, cut: 0 }
  /** One connection: some turns, each continuing the one before, and an end in the middle of one or between two. */
  const connect = (chance: () => number) =>
    new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(url)
      let left = 1 + Math.floor(chance() * 5)
      const send = (previous: string | null) => {
        const input = JSON.stringify({
          chunks: Array(1 + Math.floor(chance() * 20)).fill('word '),
          delayMs: Math.floor(chance() * 10),
        })
        const body = { type: 'response.create', model: 'scripted', store: false, input, previous_response_id: previous }
        socket.send(JSON.stringify(body))
        if (chance() < 0.3) setTimeout(() => socket.terminate(), chance() * 100)
      }
      socket.on('open', () => send(null))
      socket.on('message', (data) => {
        const event = JSON.parse(String(data)) as { type: string; response?: { id: string } }
        if (event.type === 'error' || event.type === 'response.failed') reject(new Error(String(data)))
        if (event.type !== 'response.completed') return
        counts.whole += 1
        left -= 1
        if (left === 0) socket.close()
        else send(event.response?.id ?? null)
      })
      socket.on('error', reject)
      socket.on('close', () => {
        if (left > 0) counts.cut += 1
        resolve()
      })
    })
  const client = async (seed: number) => {
    const chance = createChance(seed)
    while (performance.now() < endMs) await connect(chance)
  }
  const samples: number[] = []
  const sample = async () => {
    while (performance.now() < endMs) {
      await sleep(3000)
      collectGarbage()
      samples.push(process.memoryUsage().heapUsed)
    }
  }
  await Promise.all([sample(), ...Array.from({ length: sockets }, (_, index) => client(index + 1))])

  // One request is in flight: the one that asks.
  await until(async () => (await app.metric('dragoman_requests_in_flight')) === 1)
  expect(await app.metric('dragoman_slots_busy{model="scripted"}')).toBe(0)
  expect(await app.metric('dragoman_queue_depth{model="scripted"}')).toBe(0)
  expect(counts.whole).toBeGreaterThan(sockets)
  expect(counts.cut).toBeGreaterThan(sockets / 4)
  // The second half against the first: what has not grown by then does not grow.
  const half = Math.floor(samples.length / 2)
  const growthBytes = Math.min(...samples.slice(half)) - Math.min(...samples.slice(0, half))
  expect(growthBytes, JSON.stringify({ counts, samples })).toBeLessThan(24e6)
  await app.close()
})

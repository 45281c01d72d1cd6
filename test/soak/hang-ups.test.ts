import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../support/http/app.ts'
import { openChat } from '../support/http/raw-client.ts'
import { randomModel } from '../support/llama/models.ts'
import { collectGarbage } from '../support/process/collect-garbage.ts'
import { soakLength } from '../support/process/soak-length.ts'

/** What grows in less says nothing: it is still warming up. */
const durationMs = Math.max(soakLength(60_000), 15_000)
const clients = 8

let app: RunningApp
beforeAll(async () => {
  app = await startApp(
    {
      models: [{ id: 'random', engine: 'llama', source: await randomModel(), contextLength: 2048, threads: 1, slots: clients }],
    },
    // The log of this time would be most of what grows.
    { keepsLog: (line) => line.includes('model is ready') || line.includes('"level":50') || line.includes('"level":60') },
  )
})
afterAll(() => app.close())

/** Resident memory of the model's worker, in bytes; 0 where only Linux tells it. */
async function workerBytes(): Promise<number> {
  if (process.platform !== 'linux') return 0
  const ready = app.logLines().find((line) => line.msg === 'model is ready') as unknown as { workerPid: number }
  const status = await readFile(`/proc/${ready.workerPid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

/** Repeatable chance, so that a failure can be looked at again. */
function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('eight streams with hang-ups at random: no slot leaks, memory does not grow', {
  timeout: 180_000,
}, async () => {
  const endMs = performance.now() + durationMs
  const counts = { whole: 0, cut: 0 }
  const client = async (seed: number) => {
    const chance = createChance(seed)
    while (performance.now() < endMs) {
      const content = 'words '.repeat(1 + Math.floor(chance() * 300))
      const stream = openChat(app.url, {
        model: 'random',
        messages: [{ role: 'user', content }],
        stream: true,
        max_tokens: 1 + Math.floor(chance() * 300),
      })
      if (chance() < 0.5) {
        await Promise.race([stream.ended, sleep(chance() * 400)])
        stream.hangUp()
        counts.cut += 1
      } else {
        await stream.ended
        expect(stream.text().endsWith('data: [DONE]\n\n')).toBe(true)
        counts.whole += 1
      }
    }
  }
  const samples: { server: number; worker: number }[] = []
  const sample = async () => {
    while (performance.now() < endMs) {
      await sleep(durationMs / 12)
      collectGarbage()
      samples.push({ server: process.memoryUsage().heapUsed, worker: await workerBytes() })
    }
  }
  await Promise.all([sample(), ...Array.from({ length: clients }, (_, index) => client(index + 1))])

  await until(async () => (await app.metric('dragoman_slots_busy{model="random"}')) === 0, 1000)
  expect(await app.metric('dragoman_queue_depth{model="random"}')).toBe(0)
  expect(counts.whole).toBeGreaterThan(10)
  expect(counts.cut).toBeGreaterThan(10)
  // The second half against the first: what has not grown by then does not grow.
  const half = Math.floor(samples.length / 2)
  const smallest = (part: typeof samples, which: 'server' | 'worker') => Math.min(...part.map((entry) => entry[which]))
  for (const which of ['server', 'worker'] as const) {
    const growthBytes = smallest(samples.slice(half), which) - smallest(samples.slice(0, half), which)
    expect(growthBytes, which).toBeLessThan(24e6)
  }
  expect(app.logLines().filter((line) => line.level >= 50)).toEqual([])
})

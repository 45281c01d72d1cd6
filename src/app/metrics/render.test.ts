import { setImmediate as nextTurn } from 'node:timers/promises'
import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'
import type { ModelLoad } from './model-metrics.ts'
import { renderInTurns } from './render.ts'

/** One remote model with this many servers, each of which has answered. */
function fleet(count: number) {
  const servers = Array.from({ length: count }, (_, index) => ({
    host: `10.0.${index >> 8}.${index & 255}:8000`,
    state: 'healthy' as const,
    activeRequests: 1,
    outstandingTokens: 100,
  }))
  const load: ModelLoad = {
    id: 'm',
    state: 'ready',
    slots: 4,
    busy: 0,
    queued: 0,
    lanes: { interactive: 0, background: 0 },
    refused: 0,
    servers: servers as ModelLoad['servers'],
  }
  // As a real fleet does, each reading lists its servers anew.
  const readLoad = () => [{ ...load, servers: servers.map((server) => ({ ...server })) as ModelLoad['servers'] }]
  const metrics = createMetrics({ readLoad, version: '1', processMetrics: false })
  const observer = metrics.fleetObserver('m')
  for (const { host } of servers) {
    const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 3, reasoningTokens: 0 }
    observer.attemptEnded(
      { model: 'm', server: host, kind: 'vllm', retry: 0 } as never,
      { outcome: 'ok', firstChunkMs: 20, usage } as never,
    )
  }
  return metrics
}

/** Milliseconds that this process has run. */
function ranMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** The longest time in milliseconds that other work waits while this runs, without that of other programs. */
async function longestTurn(run: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let isRunning = true
  const watched = (async () => {
    while (isRunning) {
      const [startMs, startRanMs] = [performance.now(), ranMs()]
      await nextTurn()
      longest = Math.max(longest, Math.min(performance.now() - startMs, ranMs() - startRanMs))
    }
  })()
  await run()
  isRunning = false
  await watched
  return longest
}

test('the metrics of 1000 servers keep other work waiting for less than 5 ms', async () => {
  const metrics = fleet(1000)
  // The first are slower, until the code is compiled, and garbage is collected in some.
  let [rendered, read] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let scrape = 0; scrape < 20 && Math.max(rendered, read) >= 5; scrape += 1) {
    rendered = Math.min(rendered, await longestTurn(() => metrics.render()))
    read = Math.min(read, await longestTurn(() => metrics.read()))
  }
  expect((await metrics.render()).split('\n').length).toBeGreaterThan(4000)
  expect({ rendered, read }).toEqual({ rendered: expect.toSatisfy((ms) => ms < 5), read: expect.toSatisfy((ms) => ms < 5) })
})

test('the text is that of prom-client', async () => {
  const registry = new Registry()
  const histogram = new Histogram({ name: 'seconds', help: 'How "long".', labelNames: ['who'], registers: [registry] })
  new Histogram({ name: 'unused', help: 'Of nobody.', labelNames: ['who'], registers: [registry] })
  for (let who = 0; who < 100; who += 1) histogram.observe({ who: `"${who}"\n` }, who)
  expect(await renderInTurns(registry)).toBe(await registry.metrics())
})

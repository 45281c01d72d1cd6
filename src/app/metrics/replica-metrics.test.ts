import { expect, test } from 'vitest'
import type { AffinityOutcome, AttemptEnd, AttemptStart } from '../../contract/attempts.ts'
import type { ServerReport } from '../../contract/engine.ts'
import { mergeMetrics, renderMetrics } from '../../workers/sum-metrics.ts'
import { createMetrics } from './metrics.ts'
import type { ModelLoad } from './model-metrics.ts'

const usage = { inputTokens: 100, cachedInputTokens: 80, outputTokens: 5, reasoningTokens: 0 }

const server = (host: string, more: Partial<ServerReport> = {}): ServerReport => ({
  host,
  state: 'healthy',
  activeRequests: 1,
  outstandingTokens: 10,
  ...more,
})

const start: AttemptStart = { server: 'a:1', kind: 'vllm', model: 'served', retry: 0 }

const attempt = (host: string, more: Partial<AttemptStart> = {}): [AttemptStart, AttemptEnd] => [
  { ...start, server: host, ...more },
  { outcome: 'ok', usage, firstChunkMs: 300 },
]

/** Metrics of one remote model, `m`, whose servers can be changed. */
function create(servers: ServerReport[]) {
  const model = () => ({
    id: 'm',
    state: 'ready' as const,
    slots: 4,
    busy: 0,
    queued: 0,
    lanes: { interactive: 0, background: 0 },
    refused: 0,
    servers,
  })
  const loads: ModelLoad[] = [model()]
  const metrics = createMetrics({ readLoad: () => loads, version: '1', processMetrics: false })
  return {
    metrics,
    loads,
    fleet: metrics.fleetObserver('m'),
    change: (next: ServerReport[]) => (loads[0] = { ...model(), servers: next }),
  }
}

/** The lines of a text about replicas, without those of buckets. */
const lines = (text: string) =>
  text
    .split('\n')
    .filter((line) => /^dragoman_(replica|endpoints)/.test(line) && !line.includes('_bucket') && !line.endsWith(' 0'))

test('each server has its state, its load and what it has done', async () => {
  const { metrics, fleet } = create([
    server('a:1'),
    server('b:1', { state: 'unhealthy', activeRequests: 0, outstandingTokens: 0 }),
  ])
  fleet.attemptEnded(...attempt('a:1'))
  fleet.attemptEnded({ ...start, server: 'b:1' }, { outcome: 'failed', error: '500' })
  fleet.attemptEnded(...attempt('a:1', { retry: 1 }))
  fleet.ejected('b:1', 'failures')
  expect(lines(await metrics.render())).toEqual([
    'dragoman_replica_state{model="m",server="a:1",state="healthy"} 1',
    'dragoman_replica_state{model="m",server="b:1",state="unhealthy"} 1',
    'dragoman_replica_active{model="m",server="a:1"} 1',
    'dragoman_replica_load_tokens{model="m",server="a:1"} 10',
    'dragoman_endpoints{model="m",source="config"} 2',
    'dragoman_replica_requests_total{model="m",server="a:1",outcome="ok"} 2',
    'dragoman_replica_requests_total{model="m",server="b:1",outcome="failed"} 1',
    'dragoman_replica_retries_total{model="m",server="a:1"} 1',
    'dragoman_replica_ttft_seconds_sum{model="m",server="a:1"} 0.6',
    'dragoman_replica_ttft_seconds_count{model="m",server="a:1"} 2',
    'dragoman_replica_prompt_tokens_total{model="m",server="a:1"} 200',
    'dragoman_replica_cached_tokens_total{model="m",server="a:1"} 160',
    'dragoman_replica_ejections_total{model="m",server="b:1",reason="failures"} 1',
  ])
})

test('two hundred servers have labels, and all others share one', async () => {
  const hosts = Array.from({ length: 1000 }, (_, index) => `10.0.0.${index}:1`)
  const { metrics, fleet } = create(hosts.map((host) => server(host)))
  for (const host of hosts) fleet.attemptEnded(...attempt(host))
  const text = await metrics.render()
  const labels = new Set(Array.from(text.matchAll(/server="([^"]*)"/g), ([, label]) => label))
  expect(labels.size).toBe(201)
  expect(text).toContain('dragoman_replica_state{model="m",server="other",state="healthy"} 800')
  expect(text).toContain('dragoman_replica_active{model="m",server="other"} 800')
  expect(text).toContain('dragoman_replica_requests_total{model="m",server="other",outcome="ok"} 800')
})

test('servers that come later get the labels of those that are gone, and the memory stays bounded', async () => {
  const { metrics, fleet, change } = create([])
  for (let round = 0; round < 20; round++) {
    const hosts = Array.from({ length: 150 }, (_, index) => `10.${round}.0.${index}:1`)
    change(hosts.map((host) => server(host)))
    await metrics.render()
    for (const host of hosts) fleet.attemptEnded(...attempt(host))
  }
  const text = await metrics.render()
  expect(text).toContain('dragoman_replica_requests_total{model="m",server="10.19.0.149:1",outcome="ok"} 1')
  expect(text.match(/^dragoman_replica_retries_total/gm)?.length).toBeLessThanOrEqual(201)
})

test('a model that is gone takes its servers along', async () => {
  const { metrics, fleet, loads } = create([server('a:1')])
  fleet.attemptEnded(...attempt('a:1'))
  loads.length = 0
  expect(lines(await metrics.render())).toEqual([])
})

test('of several processes, counts are summed, and states are their mean', async () => {
  const [one, two] = [create([server('a:1')]), create([server('a:1', { state: 'unhealthy' })])]
  for (const { fleet } of [one, two]) fleet.attemptEnded(...attempt('a:1'))
  const lists = await Promise.all([one, two].map(({ metrics }) => metrics.read()))
  const text = await renderMetrics([mergeMetrics(lists as Parameters<typeof mergeMetrics>[0])])
  expect(text).toContain('dragoman_replica_state{model="m",server="a:1",state="healthy"} 0.5')
  expect(text).toContain('dragoman_replica_requests_total{model="m",server="a:1",outcome="ok"} 2')
  expect(text).toContain('dragoman_replica_active{model="m",server="a:1"} 2')
  expect(text).toContain('dragoman_endpoints{model="m",source="config"} 1')
})

test('how servers were chosen, and what they say of their caches, is counted for each model', async () => {
  const { metrics, fleet } = create([server('a:1'), server('b:1')])
  const read = (cachedInputTokens: number) => ({ inputTokens: 100, cachedInputTokens, outputTokens: 1, reasoningTokens: 0 })
  const answered = (host: string, affinity: AffinityOutcome, cachedTokens: number) => {
    const [start, end] = attempt(host, { affinity })
    fleet.attemptEnded(start, { ...end, usage: read(cachedTokens) })
  }
  answered('a:1', 'known', 0)
  answered('a:1', 'known', 50)
  answered('a:1', 'known', 49)
  answered('b:1', 'home', 96)
  answered('b:1', 'moved', 0)
  expect((await metrics.render()).split('\n').filter((line) => line.startsWith('dragoman_affinity'))).toEqual([
    'dragoman_affinity_total{model="m",outcome="unreported"} 1',
    'dragoman_affinity_total{model="m",outcome="hit"} 2',
    'dragoman_affinity_total{model="m",outcome="lost"} 1',
    'dragoman_affinity_total{model="m",outcome="moved"} 1',
  ])
})

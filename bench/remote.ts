import { type BenchProcess, portOf, startDragoman, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report/report.ts'
import { openStreams } from './stream-load.ts'

/**
 * What Dragoman costs in front of a server: against a call to the server itself (latency of each event at 200 streams at once)
 * and against a bare proxy (requests per second, memory of an open stream). All in turns, in one run, each in a process of its own.
 */

const rounds = 5
const roundMs = 1500
const streams = 200
/** V8 compiles for seconds what a server runs for days: for each server, before anything is measured. */
const warmUpMs = 10_000
const warmUpRounds = 6

const body = JSON.stringify({ model: 'up', stream: true, messages: [{ role: 'user', content: 'hello' }] })

type Rate = { readonly requestsPerSecond: number; readonly cpuMicros: number }

async function measureRate(server: BenchProcess, durationMs = roundMs): Promise<Rate> {
  const load = await openConnections({ port: portOf(server), path: '/v1/chat/completions', body, count: 16 })
  const before = await server.usage()
  const startedMs = performance.now()
  const requests = await load.run(durationMs)
  const requestsPerSecond = (requests / (performance.now() - startedMs)) * 1000
  const cpuMicros = ((await server.usage()).cpuMicros - before.cpuMicros) / requests
  load.close()
  return { requestsPerSecond, cpuMicros }
}

type Latency = { readonly p50: number; readonly p99: number }

async function measureLatency({ url }: BenchProcess, overMs: number): Promise<Latency> {
  const load = await openStreams({ url, body, count: streams, overMs })
  const delays = (await load.finished).toSorted((a, b) => a - b)
  const at = (share: number) => delays[Math.floor(delays.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

async function memoryPerStream(server: BenchProcess): Promise<number> {
  const few = await openStreams({ url: server.url, body, count: 50 })
  await few.opened
  const before = (await server.usage()).rssBytes
  const many = await openStreams({ url: server.url, body, count: 500 })
  await many.opened
  const after = (await server.usage()).rssBytes
  few.close()
  many.close()
  return (after - before) / 500 / 1024
}

/** Dragoman in front of one server. */
function startProxied({ url }: BenchProcess): Promise<BenchProcess> {
  const model = { id: 'up', engine: 'remote', endpoints: [{ url: `${url}/v1` }], slots: 2048, maxQueued: 2048 }
  return startDragoman([model])
}

type Row = (string | number)[]

async function compareRates(): Promise<Row[]> {
  const upstream = await startServer('upstream.ts', ['1'])
  const ours = await startProxied(upstream)
  const proxy = await startServer('proxy.ts', [upstream.url])
  const rates: { ours: Rate[]; proxy: Rate[] } = { ours: [], proxy: [] }
  for (const server of [ours, proxy]) await measureRate(server, warmUpMs)
  for (let round = 0; round < rounds; round++) {
    rates.ours.push(await measureRate(ours))
    rates.proxy.push(await measureRate(proxy))
  }
  for (const server of [upstream, ours, proxy]) server.stop()
  return (['requestsPerSecond', 'cpuMicros'] as const).map((key) => {
    const [through, direct] = [rates.ours, rates.proxy].map((list) => median(list.map((rate) => rate[key])))
    const label = key === 'cpuMicros' ? 'server CPU, us/request' : 'requests/s'
    return [`streamed replies of one event: ${label}`, through ?? 0, direct ?? 0, (through ?? 0) / (direct ?? 0)]
  })
}

/**
 * `overMs`: how long the opening of all streams takes. At 0 they begin in one moment and go on in step, as an engine that decodes
 * all in one batch sends them: what waits for others counts as well.
 */
async function compareLatencies(overMs: number): Promise<Row[]> {
  const upstream = await startServer('upstream.ts', [overMs === 0 ? '40' : '80', '50'])
  const ours = await startProxied(upstream)
  const seen: { ours: Latency[]; direct: Latency[] } = { ours: [], direct: [] }
  for (let round = 0; round < warmUpRounds; round++) await measureLatency(ours, overMs)
  for (let round = 0; round < rounds; round++) {
    seen.ours.push(await measureLatency(ours, overMs))
    seen.direct.push(await measureLatency(upstream, overMs))
  }
  for (const server of [upstream, ours]) server.stop()
  return (['p50', 'p99'] as const).map((key) => {
    const [through, direct] = [seen.ours, seen.direct].map((list) => median(list.map((one) => one[key])))
    const how = overMs === 0 ? 'in step' : 'each in its own time'
    return [`${key} of an event's way, ${streams} streams ${how}, ms`, through ?? 0, direct ?? 0, (through ?? 0) - (direct ?? 0)]
  })
}

async function compareMemory(): Promise<Row[]> {
  const upstream = await startServer('upstream.ts', ['1000', '1000'])
  const ours = await startProxied(upstream)
  const proxy = await startServer('proxy.ts', [upstream.url])
  const [ourMemory, proxyMemory] = [await memoryPerStream(ours), await memoryPerStream(proxy)]
  for (const server of [upstream, ours, proxy]) server.stop()
  return [['memory of an open stream, KB', ourMemory, proxyMemory, ourMemory / proxyMemory]]
}

const rows = [
  ...(await compareRates()),
  ...(await compareLatencies(0)),
  ...(await compareLatencies(1500)),
  ...(await compareMemory()),
]
printTable([`median of ${rounds} rounds`, 'dragoman', 'baseline', 'ratio; for latency the difference'], rows)
process.exit(0)

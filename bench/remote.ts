import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report.ts'
import { openStreams } from './stream-load.ts'

/**
 * What Dragoman costs in front of a server: against a call to the server itself (latency of each event at 200 streams at once)
 * and against a bare proxy (requests per second, memory of an open stream). All in turns, in one run, each in a process of its own.
 */

const rounds = 5
const roundMs = 1500
const streams = 200

type Server = { readonly name: string; readonly child: ChildProcess; readonly url: string }
type Report = { readonly cpuMicros: number; readonly rssBytes: number }

async function start(name: string, file: string, args: readonly string[]): Promise<Server> {
  const child = fork(fileURLToPath(new URL(`./servers/${file}`, import.meta.url)), [...args], { execArgv: ['--import', 'tsx'] })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code}`)))
  })
  return { name, child, url: `http://127.0.0.1:${port}` }
}

function report({ child }: Server): Promise<Report> {
  return new Promise((resolve) => {
    child.once('message', (message) => resolve(message as Report))
    child.send('cpu')
  })
}

const body = JSON.stringify({ model: 'up', stream: true, messages: [{ role: 'user', content: 'hello' }] })

async function requestsPerSecond({ url }: Server): Promise<number> {
  const load = await openConnections({ port: Number(new URL(url).port), path: '/v1/chat/completions', body, count: 16 })
  const startedMs = performance.now()
  const requests = await load.run(roundMs)
  const rate = (requests / (performance.now() - startedMs)) * 1000
  load.close()
  return rate
}

async function latencies({ url }: Server): Promise<{ readonly p50: number; readonly p99: number }> {
  const load = await openStreams({ url, body, count: streams })
  const delays = (await load.finished).toSorted((a, b) => a - b)
  const at = (share: number) => delays[Math.floor(delays.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

async function memoryPerStream(server: Server): Promise<number> {
  const few = await openStreams({ url: server.url, body, count: 50 })
  await few.opened
  const before = (await report(server)).rssBytes
  const many = await openStreams({ url: server.url, body, count: 500 })
  await many.opened
  const after = (await report(server)).rssBytes
  few.close()
  many.close()
  return (after - before) / 500 / 1024
}

async function main(): Promise<void> {
  const fast = await start('upstream', 'upstream.ts', ['1'])
  const paced = await start('paced upstream', 'upstream.ts', ['40', '50'])
  const slow = await start('slow upstream', 'upstream.ts', ['1000', '1000'])
  const rows: (string | number)[][] = []

  const ours = await start('dragoman', 'dragoman-remote.ts', ['', fast.url])
  const proxy = await start('proxy', 'proxy.ts', ['', fast.url])
  const rates: Record<string, number[]> = { ours: [], proxy: [] }
  for (let round = 0; round < rounds; round++) {
    rates.ours?.push(await requestsPerSecond(ours))
    rates.proxy?.push(await requestsPerSecond(proxy))
  }
  const [ourRate, proxyRate] = [median(rates.ours ?? []), median(rates.proxy ?? [])]
  rows.push(['streamed replies of one event, requests/s', ourRate, proxyRate, ourRate / proxyRate])

  const oursPaced = await start('dragoman', 'dragoman-remote.ts', ['', paced.url])
  const seen: Record<string, { p50: number; p99: number }[]> = { ours: [], direct: [] }
  for (let round = 0; round < rounds; round++) {
    seen.ours?.push(await latencies(oursPaced))
    seen.direct?.push(await latencies(paced))
  }
  for (const key of ['p50', 'p99'] as const) {
    const [through, direct] = [seen.ours ?? [], seen.direct ?? []].map((list) => median(list.map((one) => one[key])))
    rows.push([`${key} of an event's way at ${streams} streams, ms`, through ?? 0, direct ?? 0, (through ?? 0) - (direct ?? 0)])
  }

  const oursSlow = await start('dragoman', 'dragoman-remote.ts', ['', slow.url])
  const proxySlow = await start('proxy', 'proxy.ts', ['', slow.url])
  const [ourMemory, proxyMemory] = [await memoryPerStream(oursSlow), await memoryPerStream(proxySlow)]
  rows.push(['memory of an open stream, KB', ourMemory, proxyMemory, ourMemory / proxyMemory])
  printTable([`median of ${rounds} rounds`, 'dragoman', 'baseline', 'ratio; for latency the difference'], rows)
  for (const { child } of [fast, paced, slow, ours, proxy, oursPaced, oursSlow, proxySlow]) child.kill()
}

await main()

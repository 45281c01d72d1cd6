import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchProcess, portOf, startDragoman, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report/report.ts'
import { scriptedChunks } from './servers/scripted.ts'

/**
 * What Dragoman itself costs: requests per second and time per streamed event on the `fake` engine, against a bare
 * `node:http` server that sends the same bytes in the same rhythm. Both are measured alternately in one run, each in its own process.
 */

const rounds = 7
const connections = 16
const eventsPerReply = 200
const roundMs = 1500
/** V8 optimizes for seconds; servers run for days. */
const warmUpMs = 6000

type Sample = { readonly requestsPerSecond: number; readonly cpuUsPerRequest: number }

async function measure(target: BenchProcess, stream: boolean, durationMs = roundMs): Promise<Sample> {
  const body = JSON.stringify({ model: 'scripted', stream, messages: [{ role: 'user', content: stream ? 'long' : 'short' }] })
  const load = await openConnections({ port: portOf(target), path: '/v1/chat/completions', body, count: connections })
  const cpuBefore = (await target.usage()).cpuMicros
  const startedMs = performance.now()
  const requests = await load.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  const cpuAfter = (await target.usage()).cpuMicros
  load.close()
  return { requestsPerSecond: (requests / elapsedMs) * 1000, cpuUsPerRequest: (cpuAfter - cpuBefore) / requests }
}

/** Dragoman with a model that answers from a script. */
async function startScripted(): Promise<BenchProcess> {
  const script = join(await mkdtemp(join(tmpdir(), 'dragoman-bench-')), 'script.yaml')
  const replies = [
    { match: '^short$', reply: { chunks: scriptedChunks(1) } },
    { reply: { chunks: scriptedChunks(eventsPerReply) } },
  ]
  await writeFile(script, JSON.stringify(replies))
  return await startDragoman([{ id: 'scripted', engine: 'fake', script, slots: connections }])
}

async function main(): Promise<void> {
  const targets = [await startScripted(), await startServer('bare.ts', [String(eventsPerReply)])]
  const rows: (string | number)[][] = []
  for (const stream of [false, true]) {
    const samples = new Map<BenchProcess, Sample[]>(targets.map((target) => [target, []]))
    for (const target of targets) await measure(target, stream, warmUpMs)
    for (let round = 0; round < rounds; round++) {
      for (const target of targets) samples.get(target)?.push(await measure(target, stream))
    }
    const [ours = [], bare = []] = targets.map((target) => samples.get(target))
    const label = stream ? `stream of ${eventsPerReply} events` : 'non-streaming reply of one token'
    const rate = (list: readonly Sample[]) => median(list.map((sample) => sample.requestsPerSecond))
    const cpu = (list: readonly Sample[]) => median(list.map((sample) => sample.cpuUsPerRequest))
    rows.push([`${label}: requests/s`, rate(ours), rate(bare), rate(ours) / rate(bare)])
    rows.push([`${label}: server CPU us/request`, cpu(ours), cpu(bare), cpu(ours) / cpu(bare)])
    if (stream) {
      const perEvent = (list: readonly Sample[]) => 1e6 / (rate(list) * eventsPerReply)
      rows.push(['time per event, us', perEvent(ours), perEvent(bare), perEvent(ours) / perEvent(bare)])
      rows.push(['server CPU per event, us', cpu(ours) / eventsPerReply, cpu(bare) / eventsPerReply, cpu(ours) / cpu(bare)])
    }
  }
  printTable(['median of 7 rounds', 'dragoman', 'bare', 'ratio'], rows)
  for (const target of targets) target.stop()
}

await main()

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report.ts'

/**
 * What Dragoman itself costs: requests per second and time per streamed event on the `fake` engine, against a bare
 * `node:http` server that sends the same bytes in the same rhythm. Both are measured in turns, in one run, each in a process of its own.
 */

const rounds = 7
const connections = 16
const eventsPerReply = 200
const roundMs = 1500

type Target = { readonly name: string; readonly child: ChildProcess; readonly port: number }
type Sample = { readonly requestsPerSecond: number; readonly cpuUsPerRequest: number }

/** A server process, which answers with its CPU time so far when it is asked. */
async function start(name: string, file: string): Promise<Target> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [String(eventsPerReply)], { execArgv: ['--import', 'tsx'] })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code}`)))
  })
  return { name, child, port }
}

function cpuMicros({ child }: Target): Promise<number> {
  return new Promise((resolve) => {
    child.once('message', (message) => resolve((message as { cpuMicros: number }).cpuMicros))
    child.send('cpu')
  })
}

async function measure(target: Target, stream: boolean): Promise<Sample> {
  const body = JSON.stringify({ model: 'scripted', stream, messages: [{ role: 'user', content: stream ? 'long' : 'short' }] })
  const load = await openConnections({ port: target.port, path: '/v1/chat/completions', body, count: connections })
  const cpuBefore = await cpuMicros(target)
  const startedMs = performance.now()
  const requests = await load.run(roundMs)
  const elapsedMs = performance.now() - startedMs
  const cpuAfter = await cpuMicros(target)
  load.close()
  return { requestsPerSecond: (requests / elapsedMs) * 1000, cpuUsPerRequest: (cpuAfter - cpuBefore) / requests }
}

async function main(): Promise<void> {
  const targets = [await start('dragoman', './servers/dragoman.ts'), await start('bare node:http', './servers/bare.ts')]
  const rows: (string | number)[][] = []
  for (const stream of [false, true]) {
    const samples = new Map<Target, Sample[]>(targets.map((target) => [target, []]))
    for (const target of targets) await measure(target, stream)
    for (let round = 0; round < rounds; round++) {
      for (const target of targets) samples.get(target)?.push(await measure(target, stream))
    }
    const [ours = [], bare = []] = targets.map((target) => samples.get(target))
    const label = stream ? `stream of ${eventsPerReply} events` : 'whole reply of one token'
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
  for (const { child } of targets) child.kill()
}

await main()

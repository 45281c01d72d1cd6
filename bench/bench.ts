import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, hostname, loadavg, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { type Gateway, gateways } from './gateways.ts'
import { memoryOfStreams, type Point, ratesOfModels } from './growth.ts'
import { type Group, plot } from './plot.ts'
import { type BenchProcess, portOf, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report.ts'

/**
 * Gateways in front of the same server, in turns in one run: requests per second, whole and streamed, and the time of a request alone.
 * And how Dragoman grows with open streams and with models. Writes bench/results/DATE-MACHINE.json and a plot beside it.
 *
 *   npm run bench -- [--quick] [--name MACHINE]
 */

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, name: { type: 'string', default: hostname() } },
})
const { quick, name: machine } = values
const rounds = quick ? 3 : 5
const roundMs = quick ? 800 : 2000
/** V8 compiles for seconds what a server runs for days. */
const warmUpMs = quick ? 6000 : 15_000

type Running = { readonly name: string; readonly server: BenchProcess }
type Measure = {
  readonly label: string
  readonly unit: string
  readonly isTime: boolean
  of(server: BenchProcess, durationMs: number): Promise<number>
}
type Row = { readonly name: string; readonly values: readonly number[]; readonly median: number; readonly ratio: number }

const bodyOf = (stream: boolean) => JSON.stringify({ model: 'up', stream, messages: [{ role: 'user', content: 'hello' }] })

async function repeat(server: BenchProcess, load: { stream: boolean; count: number; durationMs: number }): Promise<number> {
  const { stream, count, durationMs } = load
  const clients = await openConnections({ port: portOf(server), path: '/v1/chat/completions', body: bodyOf(stream), count })
  const startedMs = performance.now()
  const requests = await clients.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  clients.close()
  return requests / elapsedMs
}

const measures: readonly Measure[] = [
  ...[false, true].map((stream) => ({
    label: `${stream ? 'streamed' : 'whole'} replies, 16 connections`,
    unit: 'requests/s',
    isTime: false,
    of: async (server: BenchProcess, durationMs: number) => (await repeat(server, { stream, count: 16, durationMs })) * 1000,
  })),
  {
    label: 'a whole reply, one connection',
    unit: 'ms, mean',
    isTime: true,
    of: async (server, durationMs) => 1 / (await repeat(server, { stream: false, count: 1, durationMs: durationMs / 2 })),
  },
]

/** Those that can be started here, and why the others cannot. */
async function startAll(all: readonly Gateway[], upstream: string) {
  const running: Running[] = []
  const missing: { readonly name: string; readonly reason: string }[] = []
  for (const { name, start } of all) {
    try {
      running.push({ name, server: await start(upstream) })
    } catch (error) {
      missing.push({ name, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  return { running, missing }
}

async function compare(measure: Measure, running: readonly Running[]): Promise<Row[]> {
  const samples = new Map<string, number[]>(running.map(({ name }) => [name, []]))
  for (const { server } of running) await measure.of(server, measure === measures[0] ? warmUpMs : warmUpMs / 5)
  for (let round = 0; round < rounds; round++) {
    for (const { name, server } of round % 2 === 0 ? running : [...running].reverse()) {
      samples.get(name)?.push(await measure.of(server, roundMs))
    }
  }
  const ours = samples.get(running[0]?.name ?? '') ?? []
  return [...samples].map(([name, all]) => {
    // Above 1, ours is better; the median of the rounds' own ratios.
    const ratios = all.map((value, round) => (measure.isTime ? value / (ours[round] ?? 0) : (ours[round] ?? 0) / value))
    return { name, values: all, median: median(all), ratio: median(ratios) }
  })
}

const upstream = await startServer('upstream.ts', ['1'])
const loadBefore = loadavg()[0]
const { running, missing } = await startAll(gateways, upstream.url)
const tables: { readonly measure: Measure; readonly rows: Row[] }[] = []
for (const measure of measures) tables.push({ measure, rows: await compare(measure, running) })
for (const { server } of running) server.stop()
upstream.stop()

for (const { measure, rows } of tables) {
  console.log(`\n${measure.label} (median of ${rounds} rounds)`)
  printTable(
    ['', 'dragoman is better by', measure.unit],
    [...rows.map((row) => [row.name, row.ratio, row.median]), ...missing.map(({ name, reason }) => [name, '–', reason])],
  )
}

const streams = await memoryOfStreams(quick ? [1, 1000, 10_000] : [1, 10, 100, 1000, 10_000])
const models = await ratesOfModels(quick ? [1, 50] : [1, 10, 50], { warmUpMs, durationMs: roundMs })
const printPoints = (title: string, points: readonly Point[]) => {
  console.log(`\n${title}`)
  printTable(
    ['', ''],
    points.map(({ size, value }) => [String(size), value]),
  )
}
printPoints('open streams on one process (scripted engine): memory, MiB', streams)
printPoints('models (scripted engine): requests/s', models)
const loadAfter = loadavg()[0]
console.log(`\nload average: ${loadBefore?.toFixed(1)} before, ${loadAfter?.toFixed(1)} after`)

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
const date = new Date().toISOString().slice(0, 10)
const file = new URL(`./results/${date}-${machine}`, import.meta.url)
const result = {
  date,
  machine: {
    name: machine,
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  },
  commit: git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--', 'src') === '' ? '' : ' with changes'),
  command: `npm run bench${quick ? ' -- --quick' : ''}`,
  load: { before: loadBefore, after: loadAfter },
  gateways: tables.map(({ measure: { label, unit }, rows }) => ({ label, unit, rows })),
  missing,
  growth: { memoryMiBByStreams: streams, requestsPerSecondByModels: models },
}
writeFileSync(new URL(`${file}.json`), `${JSON.stringify(result, null, 2)}\n`)
const groups: Group[] = tables.map(({ measure, rows }) => ({
  title: `${measure.label}${measure.isTime ? ': shorter is better' : ''}`,
  bars: rows.map((row) => ({
    label: row.name,
    ratio: row.median,
    text: `${row.median.toPrecision(3)} ${measure.unit}`.replace(/^\d\.\d+e\+\d+/, String(Math.round(row.median))),
  })),
}))
writeFileSync(new URL(`${file}.svg`), plot(`Gateways in front of one server, ${cpus().length} cores`, groups))
process.exit(0)

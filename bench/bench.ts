import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, hostname, loadavg, totalmem } from 'node:os'
import { basename } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { compareDecoding } from './compare-decoding.ts'
import { compareEvents } from './compare-events.ts'
import { compareGateways } from './compare-gateways.ts'
import { comparePrompts } from './compare-prompts.ts'
import { memoryOfStreams, ratesOfModels } from './growth.ts'
import { computedPrompts, passedOnPrompts } from './growth-prompts.ts'
import { modelFile } from './model-file.ts'
import { plot } from './report/plot.ts'
import { plotGroups } from './report/plot-sections.ts'
import { sectionLines } from './report/report.ts'
import type { Section } from './report/section.ts'
import { compareSessions } from './sessions/compare-sessions.ts'

/**
 * Dragoman, what it is compared with, and how it grows, in one run with one table: gateways, engines, prompts, growth and, where it is named, sessions. Each part has a
 * limit of time. Writes bench/results/DATE-MACHINE.json and a plot beside it; a run of some parts has their names in its own.
 *
 *   npm run bench -- [--quick] [--only PART,PART] [--model SOURCE] [--models FOLDER] [--gpu] [--workers N,N] [--minutes N] [--rounds N] [--name MACHINE]
 */

const partNames = ['gateways', 'events', 'decoding', 'prompts', 'growth', 'sessions'] as const
type PartName = (typeof partNames)[number]

/** Sessions take as long as all others. */
const partsByDefault = partNames.filter((name) => name !== 'sessions')

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: partsByDefault.join(',') },
    model: { type: 'string' },
    models: { type: 'string' },
    gpu: { type: 'boolean', default: false },
    workers: { type: 'string', default: '2' },
    minutes: { type: 'string' },
    rounds: { type: 'string' },
    name: { type: 'string', default: hostname() },
  },
})
const { quick, gpu, name: machine } = values
const only = values.only.split(',').map(toPartName)
const rounds = values.rounds === undefined ? (quick ? 3 : 5) : toCount('--rounds', values.rounds)
const roundMs = quick ? 800 : 2000
/** V8 compiles for seconds what a server runs for days. */
const warmUpMs = quick ? 6000 : 15_000
/** About what a part on a model may take; the others' times follow from their rounds. */
const limitMs = values.minutes === undefined ? (quick ? 60_000 : 180_000) : toMinutes(values.minutes) * 60_000

const workers = values.workers.split(',').map((count) => toCount('--workers', count))
/** On two cores, one process of load and one upstream. */
const loadProcesses = Math.max(1, Math.floor(cpus().length / 4))

const lengths = [1, 2, 4, 8, 16, 32, 64, 128].map((thousands) => thousands * 1000)
const sessionSize = quick ? { systemTokens: 2000, turns: 4 } : { systemTokens: 24_000, turns: 12 }
const parts: Readonly<Record<PartName, () => Promise<Section[]>>> = {
  gateways: () => compareGateways({ rounds, roundMs, warmUpMs, workers, loadProcesses }),
  events: async () => [await compareEvents({ rounds, warmUpMs })],
  decoding: async () => compareDecoding({ modelPath: await modelPath(), gpu, rounds, limitMs }),
  prompts: async () => comparePrompts({ modelPath: await modelPath(), gpu, rounds, limitMs }),
  sessions: () => compareSessions({ folder: values.models, size: sessionSize }),
  growth: async () => [
    await memoryOfStreams(quick ? [1, 1000, 10_000] : [1, 10, 100, 1000, 10_000]),
    await ratesOfModels(quick ? [1, 50] : [1, 10, 50], { warmUpMs, durationMs: roundMs }),
    ...(await passedOnPrompts(quick ? [1000, 128_000] : [1000, 4000, 16_000, 64_000, 128_000], {
      rounds: 3,
      roundMs: roundMs / 2,
      warmUpMs: roundMs,
    })),
    await computedPrompts(lengths, { modelPath: await modelPath(), gpu, limitMs: limitMs / 3 }),
  ],
}

// Servers that were started end with this process (processes.ts).
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

let file: Promise<string> | undefined
function modelPath(): Promise<string> {
  file ??= modelFile(values.model)
  return file
}

function toPartName(name: string): PartName {
  const part = partNames.find((one) => one === name)
  if (part === undefined) throw new Error(`--only: there is no part '${name}'; parts: ${partNames.join(', ')}`)
  return part
}

function toMinutes(text: string): number {
  const minutes = Number(text)
  if (!(minutes > 0)) throw new Error(`--minutes: '${text}' is not a number above 0`)
  return minutes
}

function toCount(option: string, text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new Error(`${option}: '${text}' is not a whole number above 0`)
  return count
}

/** Absent in a copy without its history. */
function commit(): string | undefined {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--', 'src') === '' ? '' : ' with changes')
  } catch {
    return undefined
  }
}

const [loadBefore] = loadavg()
const measured: { readonly part: PartName; readonly seconds: number; readonly sections: Section[] }[] = []
for (const part of partNames.filter((name) => only.includes(name))) {
  console.error(`measuring ${part}`)
  const startedMs = performance.now()
  const sections = await parts[part]()
  measured.push({ part, seconds: Math.round((performance.now() - startedMs) / 1000), sections })
  // The servers of this part end.
  await pause(1000)
}
const [loadAfter] = loadavg()
const sections = measured.flatMap((part) => part.sections)
for (const line of sectionLines(sections)) console.log(line)
console.log(`\nload average: ${loadBefore?.toFixed(1)} before, ${loadAfter?.toFixed(1)} after`)

const date = new Date().toISOString().slice(0, 10)
const isWhole = values.only === partsByDefault.join(',')
const result = new URL(
  `./results/${[date, machine, ...(isWhole ? [] : measured.map(({ part }) => part))].join('-')}`,
  import.meta.url,
)
const facts = {
  date,
  machine: {
    name: machine,
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  },
  commit: commit(),
  command: ['npm run bench', ...(process.argv.length > 2 ? ['--'] : []), ...process.argv.slice(2)].join(' '),
  ...(file !== undefined && { model: basename(await file) }),
  load: { before: loadBefore, after: loadAfter },
  parts: measured,
}
writeFileSync(new URL(`${result}.json`), `${JSON.stringify(facts, null, 2)}\n`)
const groups = plotGroups(sections)
if (groups.length > 0) writeFileSync(new URL(`${result}.svg`), plot(`Dragoman and others, ${cpus().length} cores`, groups))
process.exit(0)

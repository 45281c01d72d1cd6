import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DatabaseLocation, openStore } from '../src/store/open-store.ts'
import { hasPostgres, startPostgres } from '../test/support/process/postgres.ts'
import { item, response } from '../test/support/stored.ts'
import { type BenchProcess, portOf, startDragoman } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { median, printTable } from './report/report.ts'

/**
 * What a store adds to a response: the time of one `POST /v1/responses` on one connection, and the server's CPU time, against the same
 * server without a store. All are measured alternately in one run, each in its own process, on the `fake` engine.
 */

const storedResponses = 10_000
const itemBytes = 600
const rounds = 21
const roundMs = 500
const warmUpMs = 5000

type Sample = { readonly msPerCreate: number; readonly cpuMsPerCreate: number }

async function measure(target: BenchProcess, durationMs = roundMs): Promise<Sample> {
  const body = JSON.stringify({ model: 'echo', input: 'Say these few words again.' })
  const load = await openConnections({ port: portOf(target), path: '/v1/responses', body, count: 1 })
  const cpuBefore = (await target.usage()).cpuMicros
  const startedMs = performance.now()
  const creates = await load.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  const cpuMs = ((await target.usage()).cpuMicros - cpuBefore) / 1000
  load.close()
  return { msPerCreate: elapsedMs / creates, cpuMsPerCreate: cpuMs / creates }
}

/** Stores responses with three items of input and one of output. */
async function fill(database: DatabaseLocation): Promise<void> {
  const store = await openStore({ database })
  const text = 'some words '.repeat(itemBytes / 11)
  for (let count = 0; count < storedResponses; count++) {
    const input = [item({ text }), item({ text }), item({ text })]
    await store.responses.save(response({ input, output: [item({ text })] }))
  }
  await store.close()
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const postgres = hasPostgres ? await startPostgres() : undefined
  const filled = join(folder, 'filled.db')
  await fill({ type: 'sqlite', path: filled })
  const storages = new Map([
    ['off', 'off'],
    ['SQLite, empty', join(folder, 'empty.db')],
    [`SQLite, ${storedResponses} responses`, filled],
  ])
  if (postgres !== undefined) {
    const url = await postgres.createDatabase()
    await fill({ type: 'postgres', url })
    storages.set(`PostgreSQL, ${storedResponses} responses`, url)
  }
  const models = [{ id: 'echo', engine: 'fake', script: 'from-request' }]
  const targets = await Promise.all(
    [...storages].map(async ([name, storage]) => ({
      name,
      process: await startDragoman(models, { storage }),
      samples: [] as Sample[],
    })),
  )
  for (const { process } of targets) await measure(process, warmUpMs)
  for (let round = 0; round < rounds; round++) {
    for (const { process, samples } of targets) samples.push(await measure(process))
  }
  const timesOf = (samples: readonly Sample[]) => samples.map(({ msPerCreate }) => msPerCreate)
  const cpuOf = (samples: readonly Sample[]) => median(samples.map(({ cpuMsPerCreate }) => cpuMsPerCreate))
  const off = timesOf(targets[0]?.samples ?? [])
  printTable(
    ['per create', 'median ms', 'added', 'ratio', 'fastest round ms', 'added', 'ratio', 'server CPU ms'],
    targets.map(({ name, samples }) => {
      const times = timesOf(samples)
      const compared = [median, (values: readonly number[]) => Math.min(...values)].flatMap((pick) => {
        return [pick(times), pick(times) - pick(off), pick(times) / pick(off)]
      })
      return [name, ...compared, cpuOf(samples)]
    }),
  )
  for (const { process } of targets) process.stop()
  await postgres?.stop()
}

await main()

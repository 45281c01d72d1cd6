import cluster from 'node:cluster'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../app/log/log.ts'
import { MinuteCounter } from '../quota/minute-counter.ts'
import { PrimaryState } from './primary-state.ts'
import { WorkerPool } from './worker-pool.ts'

/** A worker that only answers the primary process. */
const workerSource = `
process.on('message', ({ type }) => {
  if (type === 'start') process.send({ type: 'listening', url: 'http://here' })
  if (type === 'drain') process.exit()
})
process.send({ type: 'waiting' })
`

let folder: string
let pool: WorkerPool
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-pool-'))
  const module = join(folder, 'worker.mjs')
  await writeFile(module, workerSource)
  const log = createLog({ level: 'silent' })
  pool = new WorkerPool({ module, execArgv: [], count: 1, config: {}, primary: new PrimaryState(new MinuteCounter()), log })
})
afterEach(async () => {
  pool.kill()
  delete cluster.settings.cwd
  await rm(folder, { recursive: true })
})

/** As a system without room for a process. */
const refuseProcesses = () => {
  cluster.settings.cwd = join(folder, 'missing')
}
const pids = () => Object.values(cluster.workers ?? {}).map((worker) => worker?.process.pid)

test('a first process that cannot be made is a failure of the start', async () => {
  refuseProcesses()
  await expect(pool.start()).rejects.toThrow(/a worker ended \(spawn .* ENOENT\) before it listened/)
  await pool.drain()
})

test('a later process that cannot be made is tried again, until it can', async () => {
  expect(await pool.start()).toBe('http://here')
  const [first] = pids()
  refuseProcesses()
  const fork = vi.spyOn(cluster, 'fork')
  process.kill(Number(first), 'SIGKILL')
  await vi.waitUntil(() => fork.mock.calls.length >= 2, { timeout: 60_000 })
  delete cluster.settings.cwd
  await vi.waitUntil(() => pids().some((pid) => pid !== undefined && pid !== first), { timeout: 60_000 })
  await pool.drain()
  expect(pids()).toEqual([])
})

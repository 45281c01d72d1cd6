import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startFlags } from '../src/cli/v8-flags.ts'

/** What a process has used since its start. */
export type Usage = { readonly cpuMicros: number; readonly rssBytes: number }

/** A server in a process of its own. */
export type BenchProcess = {
  readonly url: string
  readonly pid: number
  usage(): Promise<Usage>
  stop(): void
}

const startWithinMs = 60_000

const reportUsage = new URL('./servers/report-usage.mjs', import.meta.url).href

/** One of `bench/servers`. */
export async function startServer(file: string, args: readonly string[]): Promise<BenchProcess> {
  const path = fileURLToPath(new URL(`./servers/${file}`, import.meta.url))
  const child = fork(path, [...args], { execArgv: ['--import', 'tsx', '--import', reportUsage] })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('exit', (code) => reject(new Error(`${file} ended with code ${code}`)))
  })
  return toProcess(child, port)
}

type DragomanOptions = {
  /** Where it was built; absent: here. */
  readonly checkout?: string
  /** Absent: the default of that version. */
  readonly storage?: string
  /** Processes that answer requests; 1 unless given. */
  readonly workers?: number
  /** Flags of its Node, such as those of a profile. */
  readonly execArgv?: readonly string[]
  /** The folder of its data; absent: a new one. */
  readonly home?: string
  /** Where it keeps requests; absent: nowhere. */
  readonly captureFolder?: string
}

/** Any other program that listens on `port`, once `path` answers. Rejects when it ends before, or does not answer within a minute. */
export async function startProgram(
  command: string,
  args: readonly string[],
  { port, path, env = {} }: { readonly port: number; readonly path: string; readonly env?: NodeJS.ProcessEnv },
): Promise<BenchProcess> {
  const child = spawn(command, [...args], { stdio: 'ignore', env: { ...process.env, ...env } })
  const stop = () => void child.kill('SIGKILL')
  process.once('exit', stop)
  const url = `http://127.0.0.1:${port}`
  const untilMs = performance.now() + startWithinMs
  while (!(await answers(`${url}${path}`))) {
    const { exitCode, signalCode } = child
    if (exitCode !== null || signalCode !== null) throw new Error(`${command} ended with ${signalCode ?? `code ${exitCode}`}`)
    if (performance.now() > untilMs) {
      stop()
      throw new Error(`${command} did not answer within ${startWithinMs} ms`)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return { url, pid: child.pid as number, usage: () => usageOf(child.pid), stop }
}

/** As Linux counts it, in hundredths of a second; NaN elsewhere. */
async function usageOf(pid: number | undefined): Promise<Usage> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name before the last bracket may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, pages] = [fields[11], fields[12], fields[21]].map(Number)
  return { cpuMicros: ((user ?? Number.NaN) + (system ?? Number.NaN)) * 10_000, rssBytes: (pages ?? Number.NaN) * 4096 }
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (reply) => reply.ok,
    () => false,
  )
}

/** Dragoman as it is built in a checkout, with these models, as `npm start` runs it. Its log is off: the baselines have none. */
export async function startDragoman(
  models: readonly object[],
  { checkout, storage, workers, execArgv = [], home: kept, captureFolder }: DragomanOptions = {},
): Promise<BenchProcess & { end(): Promise<void> }> {
  const port = await freePort()
  const home = kept ?? (await mkdtemp(join(tmpdir(), 'dragoman-bench-')))
  const config = join(home, 'config.json')
  const settings = {
    server: { port, ...(workers !== undefined && { workers }) },
    log: { level: 'silent', ...(captureFolder !== undefined && { captureFolder }) },
    ...(storage !== undefined && { storage }),
  }
  await writeFile(config, JSON.stringify({ ...settings, builtinModel: false, models }))
  const program = join(checkout ?? fileURLToPath(new URL('..', import.meta.url)), 'dist', 'cli', 'program.js')
  const child = fork(program, ['serve', '--config', config], {
    execArgv: [...startFlags, '--import', reportUsage, ...execArgv],
    env: { ...process.env, DRAGOMAN_HOME: home },
    silent: true,
  })
  const url = `http://127.0.0.1:${port}`
  while (!(await answers(`${url}/ready`))) {
    if (child.exitCode !== null) throw new Error(`dragoman ended with code ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const running = toProcess(child, port)
  const end = async () => {
    // With its channel it would end before it has kept anything.
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
  return { ...running, end }
}

export function portOf({ url }: BenchProcess): number {
  return Number(new URL(url).port)
}

function toProcess(child: ChildProcess, port: number): BenchProcess {
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid as number,
    usage: () =>
      new Promise((resolve) => {
        child.once('message', (message) => resolve(message as Usage))
        child.send('usage')
      }),
    // The channel would keep both processes alive.
    stop: () => {
      child.kill()
      child.disconnect()
    },
  }
}

/** A port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

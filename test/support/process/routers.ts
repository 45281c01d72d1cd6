import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { until } from '../until.ts'
import { installedFrom } from './test-tools.ts'

/** The routers that tests start, and how. */
const modules = { 'vllm-router': 'vllm_router', 'sglang-router': 'sglang_router', smg: 'smg' } as const

export type RouterName = keyof typeof modules

/** Where scripts/installers/routers.mjs puts the packages of a router, and its version. */
function installed(name: RouterName) {
  const manifest = new URL(`../../routers/${name}.txt`, import.meta.url)
  const requirements = readFileSync(manifest, 'utf8')
  const version = new RegExp(`^${name}==(.+)$`, 'm').exec(requirements)?.[1] ?? 'unknown'
  return { folder: installedFrom(name, manifest), version }
}

export const routerNames = Object.keys(modules) as readonly RouterName[]

export const routerVersions = Object.fromEntries(routerNames.map((name) => [name, installed(name).version]))

/** Why tests with routers are skipped; undefined where all are there. */
export const routersHint = routerNames.every((name) => existsSync(installed(name).folder))
  ? undefined
  : ' (skipped: install them with `npm run routers`)'

export type RunningRouter = {
  readonly url: string
  readonly version: string
  /** As when its machine is taken away. */
  kill(): Promise<void>
  /** At the same address. */
  restart(): Promise<void>
}

/** A router on loopback over these servers, whose engines it knows to be up. Kill it. */
export async function startRouter(name: RouterName, workers: readonly string[]): Promise<RunningRouter> {
  const { folder, version } = installed(name)
  const [port, prometheus] = [await freePort(), await freePort()]
  const args = [
    ...['-m', `${modules[name]}.launch_router`, '--host', '127.0.0.1', '--port', `${port}`],
    ...['--prometheus-port', `${prometheus}`, '--worker-startup-check-interval', '1'],
    // Its retries are quick, and it leaves no server: what is counted here is what it sends.
    ...['--retry-initial-backoff-ms', '10', '--retry-max-backoff-ms', '40', '--disable-circuit-breaker'],
    ...['--worker-urls', ...workers],
  ]
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let said = ''
  const start = async () => {
    const started = spawn('python3', args, { env: { ...process.env, PYTHONPATH: folder }, stdio: ['ignore', 'pipe', 'pipe'] })
    child = started
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (bytes: Buffer) => {
        said = (said + bytes.toString()).slice(-4000)
      })
    }
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`${name} has ended: ${said}`)
      const reply = await fetch(`${url}/v1/models`).catch(() => undefined)
      return reply?.ok === true && JSON.stringify(await reply.json()).includes('"id"')
    }, 60_000).catch((error: unknown) => {
      throw new Error(`${name} does not serve: ${said}`, { cause: error })
    })
  }
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await start()
  return { url, version, kill, restart: start }
}

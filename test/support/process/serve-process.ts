import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { builtProgram } from './built-program.ts'

export type ServeProcess = {
  readonly url: string
  readonly pid: number
  hasEnded(): boolean
  /** As when the machine takes the process away. */
  kill(): Promise<void>
  /** As a service manager does it, to its end. Resolves with the code of its exit. */
  stop(): Promise<number | null>
}

type Options = {
  readonly models?: readonly object[]
  /** Of Node. */
  readonly flags?: readonly string[]
  /** A folder of chat templates to switch to. */
  readonly templates?: string
  readonly env?: NodeJS.ProcessEnv
  /** Other sections of the configuration. */
  readonly settings?: object
}

const scripted = { id: 'scripted', engine: 'fake', script: 'from-request', aliases: ['default'] }

/** A data folder whose server can be started again and again, on the scripted engine unless told. `server` are its settings. Remove it. */
export async function createServeHome(
  storage: string | object,
  server: object = {},
  { models = [scripted], flags = [], templates, env: added, settings }: Options = {},
) {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-serve-'))
  const file = join(home, 'dragoman.yaml')
  await writeFile(
    file,
    JSON.stringify({ server: { port: 0, ...server }, log: { level: 'error' }, storage, models, templates, ...settings }),
  )
  const children = new Set<ChildProcess>()
  const start = async (): Promise<ServeProcess> => {
    const args = ['--throw-deprecation', ...flags, builtProgram, 'serve', '--config', file]
    const env = { ...process.env, DRAGOMAN_HOME: home, ...added }
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    children.add(child)
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0]
      if (url === undefined) continue
      const stop = async () => {
        await end(child, 'SIGTERM')
        return child.exitCode
      }
      return { url, pid: child.pid ?? 0, hasEnded: () => hasEnded(child), kill: () => end(child), stop }
    }
    throw new Error('the server ended before it listened')
  }
  const remove = async () => {
    for (const child of children) await end(child)
    await rm(home, { recursive: true, force: true })
  }
  return { home, start, remove }
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { OutputTail } from '../../base/output-tail.ts'
import type { ProcessExit } from '../supervise/supervise.ts'

export type SpawnOptions = {
  readonly binary: string
  readonly args: readonly string[]
  /** The key that the server requires of its clients. */
  readonly apiKey: string
  onLine(line: string): void
  /** How long the server may take to end after SIGTERM. */
  readonly graceMs?: number
}

/** A server process with its guardian, in a process group of their own. */
export type ServerProcess = {
  /** The server's own id, once it runs; until then its guardian's. */
  readonly pid: number
  readonly lastLines: readonly string[]
  /** Resolves when the server and its guardian have ended. Never rejects. */
  readonly exited: Promise<ProcessExit>
  /** Sends SIGTERM, and SIGKILL to the whole group after the grace period. Resolves when it has ended. */
  kill(): Promise<void>
}

/** Signals that do not indicate a crash of the server. */
const outsideSignals = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])
/** Environment variables that the server does not get: secrets, and those that would override its configuration. */
const withheld = /KEY|TOKEN|SECRET|PASSWORD|^LLAMA_(?:ARG|SERVER)_/i

/** Starts a server that ends with this process, however this process ends. */
export function spawnServer({ binary, args, apiKey, onLine, graceMs = 5000 }: SpawnOptions): ServerProcess {
  // From sources (tests, development) the guardian is TypeScript; built, it is JavaScript.
  const extension = extname(fileURLToPath(import.meta.url))
  const environment = Object.entries(process.env).filter(([name]) => !withheld.test(name))
  const guardian = fork(fileURLToPath(new URL(`./guardian${extension}`, import.meta.url)), [binary, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: extension === '.ts' ? ['--import', 'tsx'] : [],
    env: { ...Object.fromEntries(environment), LLAMA_API_KEY: apiKey },
    detached: true,
  })
  const tail = new OutputTail(onLine)
  tail.read(guardian.stdout, guardian.stderr)
  let serverPid: number | undefined
  const exited = watchEnd(guardian, { onStarted: (pid) => (serverPid = pid) }).then((end) => ({ ...end, lastLines: tail.lines }))
  return {
    get pid() {
      return serverPid ?? guardian.pid ?? -1
    },
    get lastLines() {
      return tail.lines
    },
    exited,
    async kill() {
      if (guardian.connected) guardian.send('stop', () => undefined)
      const deadline = setTimeout(() => killGroup(guardian), graceMs)
      await exited
      clearTimeout(deadline)
    },
  }
}

type End = Omit<ProcessExit, 'lastLines'>

function watchEnd(guardian: ChildProcess, { onStarted }: { onStarted: (pid: number) => void }): Promise<End> {
  let end: End | undefined
  guardian.on('message', (message) => {
    const report = guardianReportSchema.parse(message)
    switch (report.type) {
      case 'started':
        onStarted(report.pid)
        break
      case 'not-started':
        end = { description: `could not be started: ${report.message}`, fromOutside: false }
        break
      case 'exited':
        end = describeEnd(report.code, report.signal)
        break
    }
  })
  return new Promise((resolve) => {
    guardian.on('error', (error) => {
      // Also emitted when a message could not be sent; only `exit` means that the process has ended.
      if (guardian.pid === undefined) resolve({ description: `could not be started: ${error.message}`, fromOutside: false })
    })
    // `close` comes after the last output, which names the reason.
    guardian.once('exit', () => killGroup(guardian))
    guardian.once('close', (code, signal) => resolve(end ?? describeEnd(code, signal)))
  })
}

function describeEnd(code: number | null, signal: string | null): End {
  if (signal !== null) return { description: `killed by ${signal}`, fromOutside: outsideSignals.has(signal) }
  return { description: `exited with code ${code}`, fromOutside: false }
}

/** Kills the guardian's process group: also the server of a killed guardian. */
function killGroup(guardian: ChildProcess): void {
  if (guardian.pid === undefined) return
  try {
    if (process.platform === 'win32') guardian.kill('SIGKILL')
    else process.kill(-guardian.pid, 'SIGKILL')
  } catch (error) {
    // The group has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const guardianReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), pid: z.int() }),
  z.object({ type: z.literal('not-started'), message: z.string() }),
  z.object({ type: z.literal('exited'), code: z.int().nullable(), signal: z.string().nullable() }),
])

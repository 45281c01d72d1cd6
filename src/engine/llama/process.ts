import { availableParallelism } from 'node:os'
import { OutputTail } from '../../base/output-tail.ts'
import type { ProcessExit, SupervisedProcess } from '../supervise/supervise.ts'
import { type Command, type LlamaBuild, type Report, reportsSchema } from './channel/ipc.ts'
import { forkScript } from './fork-script.ts'

/** How a worker ended. */
export type WorkerExit = ProcessExit

/**
 * A running worker, which is killed immediately since it has nothing to save. It dies with its parent: a closed channel ends it, and a
 * thread of it when it is too busy to see that.
 */
export type WorkerProcess = Omit<SupervisedProcess, 'ping'> & { send(command: Command): void }

export type WorkerHandlers = {
  onReport(report: Report): void
  /** A line that the worker or a native library wrote; not for clients. */
  onLine(line: string): void
}

/** `enginePath`: the folder to import node-llama-cpp from. */
export type SpawnWorker = (handlers: WorkerHandlers, enginePath?: string) => WorkerProcess

/** Signals from outside, unlike those of crashing native code: SIGSEGV, SIGABRT, SIGBUS, SIGILL or SIGFPE. */
const outsideSignals = new Set<NodeJS.Signals>(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])
/** Environment variables that the worker does not get. */
const secret = /KEY|TOKEN|SECRET|PASSWORD/i

/** Up to this number of cores, passes and samples run on one thread. */
const fewCores = 4

/**
 * The environment of a worker on a machine with this many cores: that of this process without its secrets. Passes and samples run on the threads of
 * libuv's pool, whose size it reads from here. With few cores one thread is faster than four in turn (3 to 9 % on two cores, see
 * bench/results/2026-11-thread-pool.md); with many it would make streams wait for each other's samples.
 */
export function workerEnvironment(environment: NodeJS.ProcessEnv, cores: number): NodeJS.ProcessEnv {
  const shared = Object.fromEntries(Object.entries(environment).filter(([name]) => !secret.test(name)))
  return cores > fewCores ? shared : { UV_THREADPOOL_SIZE: '1', ...shared }
}

/** The build that ran in an earlier worker of this process, by `enginePath`. */
const knownBuilds = new Map<string | undefined, LlamaBuild>()

/** Starts a worker process with a validated message channel. */
export const spawnWorker: SpawnWorker = ({ onReport, onLine }, enginePath) => {
  const knownBuild = knownBuilds.get(enginePath)
  // Another driver, or a GPU that is gone: the next worker tries again. One that is ready puts it back.
  knownBuilds.delete(enginePath)
  const child = forkScript('worker', {
    args: [String(process.pid), ...(knownBuild === undefined ? [] : [knownBuild])],
    enginePath,
    serialization: 'advanced',
    env: workerEnvironment(process.env, availableParallelism()),
  })
  const tail = new OutputTail(onLine)
  tail.read(child.stdout, child.stderr)
  let isInvalid = false
  child.on('message', (message) => {
    const reports = reportsSchema.safeParse(message)
    if (reports.success) {
      for (const report of reports.data) {
        if (report.type === 'ready') knownBuilds.set(enginePath, report.build)
        onReport(report)
      }
      return
    }
    isInvalid = true
    tail.push(`the worker sent a message that is not valid: ${reports.error.message}\n`)
    child.kill('SIGKILL')
  })

  const exited = new Promise<WorkerExit>((resolve) => {
    child.on('error', (error) => {
      // Also emitted when a message or a signal could not be sent; only `exit` means that the process has ended.
      tail.push(`${error.message}\n`)
      if (child.pid === undefined)
        resolve({ description: `could not be started: ${error.message}`, lastLines: tail.lines, fromOutside: false })
    })
    child.once('exit', (code, signal) => {
      const description = signal === null ? `exited with code ${code}` : `killed by ${signal}`
      const fromOutside = !isInvalid && signal !== null && outsideSignals.has(signal)
      resolve({
        description: isInvalid ? 'it sent a message that is not valid' : description,
        lastLines: tail.lines,
        fromOutside,
      })
    })
  })
  return {
    pid: child.pid ?? -1,
    exited,
    send(command) {
      // A message to a process that is ending is lost; its requests fail when it exits.
      if (child.connected) child.send(command, () => undefined)
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

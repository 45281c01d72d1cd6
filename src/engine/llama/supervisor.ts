import type { Admit, Engine, EngineState } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { ProcessSupervisor, type Start, type SupervisedProcess, type SupervisorLog } from '../supervise/supervise.ts'
import type { Command, LoadOptions, Report } from './channel/ipc.ts'
import type { SpawnWorker, WorkerExit, WorkerProcess } from './process.ts'

type SupervisorOptions = Start<LoadOptions> & {
  readonly model: string
  readonly spawn: SpawnWorker
  readonly log: SupervisorLog
  /** Reports about requests. */
  readonly onReport: (report: Report) => void
  /** The worker has ended: all of its requests fail with this error. */
  readonly onExit: (error: AppError, exit: WorkerExit) => void
}

/** The facts of a loaded model. */
export type LoadFacts = Omit<Extract<Report, { type: 'ready' }>, 'type'>

/** Supervises the worker of one model, and passes messages to and from it. */
export class Supervisor {
  readonly #model: string
  readonly #processes: ProcessSupervisor<LoadOptions, LoadFacts, SupervisedProcess & WorkerProcess>

  constructor({ model, spawn, log, onReport, onExit, ...start }: SupervisorOptions) {
    this.#model = model
    this.#processes = new ProcessSupervisor({
      ...start,
      model,
      log,
      onExit,
      describe: ({ chatTemplate: _, fileSampling: __, ...facts }) => facts,
      launch: (options, handlers) => {
        const worker = spawn(
          {
            onLine: (line) => log.debug({ model, line }, 'worker output'),
            onReport: (report) => {
              // A late report of a worker that was abandoned is dropped.
              if (this.#processes.process?.exited !== worker.exited) return
              handlers.onHeard()
              switch (report.type) {
                case 'pong':
                  break
                case 'loading':
                  handlers.onLoading(report.progress)
                  break
                case 'ready': {
                  const { type: _, ...loaded } = report
                  handlers.onReady(loaded)
                  for (const note of loaded.fileSampling.notes) log.warn({ model }, note)
                  break
                }
                case 'load-failed':
                  handlers.onLoadFailed(report.message)
                  break
                case 'log':
                  // llama.cpp's own warnings are for developers.
                  if (report.level === 'warn') log.warn({ model }, report.message)
                  // `level` is the name of the entry's own.
                  else log.debug({ model, workerLevel: report.level }, report.message)
                  break
                case 'prepared':
                case 'answered':
                case 'failed':
                case 'template-used':
                case 'prefixes-saved':
                case 'prompt-progress':
                case 'prompt-read':
                case 'prompt-tokens':
                case 'text':
                case 'choice-done':
                case 'done':
                  onReport(report)
                  break
              }
            },
          },
          options.enginePath,
        )
        worker.send({ type: 'load', options })
        return { ...worker, ping: () => worker.send({ type: 'ping' }) }
      },
    })
  }

  get state(): EngineState {
    return this.#processes.state
  }

  get onState(): Engine['onState'] {
    return this.#processes.onState
  }

  /** The facts of the last load; absent before the first. */
  get loaded(): LoadFacts | undefined {
    return this.#processes.loaded
  }

  /** Resolves when the worker is ready. Rejects with `model-unavailable` if it cannot be loaded. */
  ensureReady(signal: AbortSignal, admit?: Admit): Promise<LoadFacts> {
    return this.#processes.ensureReady(signal, admit)
  }

  /** Sends a command; its results arrive through `onReport` or `onExit`. Throws when no worker runs. */
  send(command: Command): void {
    const worker = this.#processes.process
    if (worker === undefined) {
      throw new AppError('engine-failed', `the process that runs model '${this.#model}' has ended; try again`)
    }
    worker.send(command)
  }

  /** Sends a command about running work; does nothing when no worker runs. */
  steer(command: Extract<Command, { type: 'cancel' | 'pause' | 'resume' }>): void {
    this.#processes.process?.send(command)
  }

  /** Treats a worker that no longer answers as crashed, and ends it. */
  abandon(reason: string): void {
    this.#processes.abandon(reason)
  }

  /** Accepts no more requests; the worker continues those that it has. */
  drain(): void {
    this.#processes.drain()
  }

  /** Ends the worker, or the start of one. Resolves when every process of this model has ended. */
  stop(): Promise<void> {
    return this.#processes.stop()
  }
}

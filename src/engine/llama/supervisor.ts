import { AppError } from '../../contract/errors.ts'
import { ProcessSupervisor, type Start, type SupervisedProcess, type SupervisorLog } from '../supervise/supervise.ts'
import type { Command, LoadOptions, Report, RequestReport } from './channel/ipc.ts'
import type { SpawnWorker, WorkerExit, WorkerProcess } from './process.ts'

type SupervisorOptions = Start<LoadOptions> & {
  readonly model: string
  readonly spawn: SpawnWorker
  readonly log: SupervisorLog
  readonly onReport: (report: RequestReport) => void
  /** The bytes of a medium, as base64. */
  readonly media: (sha256: string) => string | undefined
  /** The worker has ended: all of its requests fail with this error. */
  readonly onExit: (error: AppError, exit: WorkerExit) => void
}

export type LoadFacts = Omit<Extract<Report, { type: 'ready' }>, 'type'>

/** Supervises the worker of one model, and passes messages to and from it. */
export class Supervisor extends ProcessSupervisor<LoadOptions, LoadFacts, SupervisedProcess & WorkerProcess> {
  readonly #model: string

  constructor({ model, spawn, log, onReport, media, onExit, ...start }: SupervisorOptions) {
    super({
      ...start,
      model,
      log,
      onExit,
      describe: ({ chatTemplate: _, fileSampling: __, ...facts }) => facts,
      launch: (options, handlers) => {
        const onLine = (line: string) => log.debug({ model, line }, 'worker output')
        const worker = spawn(
          {
            onLine,
            onReport(report) {
              if (!handlers.onHeard()) return
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
                case 'media-wanted': {
                  const { sha256 } = report
                  const base64 = media(sha256)
                  log.debug({ model, sha256 }, 'the worker reads a medium')
                  worker.send({ type: 'media', sha256, ...(base64 !== undefined && { base64 }) })
                  break
                }
                case 'log':
                  // llama.cpp's own warnings are for developers.
                  if (report.level === 'warn') log.warn({ model }, report.message)
                  // `level` is the name of the entry's own.
                  else log.debug({ model, workerLevel: report.level }, report.message)
                  break
                default:
                  onReport(report)
              }
            },
          },
          options.enginePath,
        )
        worker.send({ type: 'load', options })
        return { ...worker, ping: () => worker.send({ type: 'ping' }) }
      },
    })
    this.#model = model
  }

  /** Sends a command; its results arrive through `onReport` or `onExit`. Throws when no worker runs. */
  send(command: Command): void {
    if (this.process === undefined) {
      throw new AppError('engine-failed', `the process that runs model '${this.#model}' has ended; try again`)
    }
    this.process.send(command)
  }

  /** Sends a command that needs no reply; does nothing when no worker runs. */
  steer(command: Extract<Command, { type: 'cancel' | 'pause' | 'resume' | 'spare-memory' }>): void {
    this.process?.send(command)
  }
}

import type { EngineState } from '../../core/engine.ts'
import { AppError } from '../../core/errors.ts'
import type { Command, LoadOptions, Report } from './ipc.ts'
import type { SpawnWorker, WorkerExit, WorkerProcess } from './process.ts'

/** The little that a supervisor says to the log. */
export type SupervisorLog = {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

export type SupervisorOptions = {
  readonly model: string
  /** Finds or fetches the model and says how to load it; runs before each start. */
  readonly locate: (signal: AbortSignal) => Promise<LoadOptions>
  readonly spawn: SpawnWorker
  readonly log: SupervisorLog
  /** Reports about requests. */
  readonly onReport: (report: Report) => void
  /** The worker is gone: every request that it had has failed with this. */
  readonly onExit: (error: AppError) => void
}

export type LoadedModel = { readonly contextLength: number; readonly vocabularySize: number; readonly description: string }

type Waiter = { resolve(): void; reject(error: unknown): void }

const firstBackoffMs = 100
const longestBackoffMs = 30_000
/** A worker that served this long before it crashed starts its back-off anew. */
const stableAfterMs = 60_000

/** The pause before restart number `failures` in a row (1 is the first). */
export function backoffMs(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** (failures - 1))
}

/**
 * The only writer of one worker's state. A worker that crashes while serving is restarted with back-off, and requests wait
 * for it; a model that cannot be loaded fails the requests that wait, and is tried again by the next one after a pause.
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #waiters = new Set<Waiter>()
  #stopping = new AbortController()
  #state: EngineState = { type: 'stopped' }
  #worker: WorkerProcess | undefined
  #loaded: LoadedModel | undefined
  #failures = 0
  #readySinceMs = 0
  #notBeforeMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  get state(): EngineState {
    return this.#state
  }

  get loaded(): LoadedModel | undefined {
    return this.#loaded
  }

  /** Resolves when the worker is ready. Rejects with `model-unavailable` if it cannot be loaded. */
  ensureReady(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const state = this.#state
    switch (state.type) {
      case 'ready':
        return Promise.resolve()
      case 'draining':
        return Promise.reject(new AppError('shutting-down', `model '${this.#options.model}' is being unloaded; try again later`))
      case 'failed':
        // (1) A crash: the restart is already planned.
        if (state.retryAtMs !== undefined) break
        // (2) A failed load: nobody tries again before the pause is over, then this request does.
        if (Date.now() < this.#notBeforeMs) return Promise.reject(this.#unavailable(state.reason))
        void this.#start()
        break
      case 'stopped':
        this.#stopping = new AbortController()
        void this.#start()
        break
      case 'starting':
      case 'loading':
        break
    }
    return this.#wait(signal)
  }

  /** Sends a command to the ready worker. */
  send(command: Command): void {
    this.#worker?.send(command)
  }

  /** Ends the worker by force, as a crash would: for a worker that no longer answers. */
  abandon(reason: string): void {
    this.#options.log.warn({ model: this.#options.model, reason }, 'worker does not answer; ending it')
    void this.#worker?.kill()
  }

  /** No new work from now on; what runs goes on. */
  drain(): void {
    clearTimeout(this.#timer)
    this.#stopping.abort(new AppError('shutting-down', `model '${this.#options.model}' is being unloaded`))
    this.#state = { type: 'draining' }
    this.#settle((waiter) => waiter.reject(this.#stopping.signal.reason))
  }

  /** Ends the worker. Resolves when its process is gone. */
  async stop(): Promise<void> {
    this.drain()
    await this.#worker?.kill()
    this.#state = { type: 'stopped' }
  }

  async #start(): Promise<void> {
    this.#state = { type: 'starting' }
    try {
      const options = await this.#options.locate(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      this.#state = { type: 'loading', progress: 0 }
      const worker = this.#options.spawn({
        onReport: (report) => this.#onReport(worker, report),
        onLine: (line) => this.#options.log.debug({ model: this.#options.model, line }, 'worker output'),
      })
      this.#worker = worker
      void worker.exited.then((exit) => this.#onExit(worker, exit))
      worker.send({ type: 'load', options })
    } catch (error) {
      this.#onLoadFailed(error instanceof Error ? error.message : String(error))
    }
  }

  #onReport(worker: WorkerProcess, report: Report): void {
    if (worker !== this.#worker) return
    switch (report.type) {
      case 'loading':
        if (this.#state.type === 'loading') this.#state = { type: 'loading', progress: report.progress }
        break
      case 'ready':
        if (this.#state.type !== 'loading') break
        this.#state = { type: 'ready' }
        this.#readySinceMs = Date.now()
        this.#loaded = {
          contextLength: report.contextLength,
          vocabularySize: report.vocabularySize,
          description: report.description,
        }
        this.#options.log.info({ model: this.#options.model, pid: worker.pid, ...this.#loaded }, 'model is ready')
        this.#settle((waiter) => waiter.resolve())
        break
      case 'load-failed':
        this.#worker = undefined
        void worker.kill()
        this.#onLoadFailed(report.message)
        break
      case 'log':
        this.#options.log.debug({ model: this.#options.model, level: report.level }, report.message)
        break
      default:
        this.#options.onReport(report)
    }
  }

  #onExit(worker: WorkerProcess, exit: WorkerExit): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const { model, log, onExit } = this.#options
    const wasReady = this.#state.type === 'ready'
    onExit(new AppError('engine-failed', `the process that runs model '${model}' ended (${exit.description}); try again`))
    if (this.#state.type === 'draining') return
    if (!wasReady) {
      const lastLine = exit.lastLines.at(-1)
      this.#onLoadFailed(`the process that loads the model ended (${exit.description})${lastLine ? `: ${lastLine}` : ''}`)
      return
    }
    if (Date.now() - this.#readySinceMs >= stableAfterMs) this.#failures = 0
    this.#failures += 1
    const pauseMs = backoffMs(this.#failures)
    log.warn({ model, exit: exit.description, lastLines: exit.lastLines, pauseMs }, 'worker ended; restarting')
    this.#state = { type: 'failed', reason: exit.description, retryAtMs: Date.now() + pauseMs }
    this.#timer = setTimeout(() => void this.#start(), pauseMs)
  }

  #onLoadFailed(reason: string): void {
    if (this.#state.type === 'draining') return
    this.#failures += 1
    this.#notBeforeMs = Date.now() + backoffMs(this.#failures)
    this.#state = { type: 'failed', reason }
    this.#options.log.warn({ model: this.#options.model, reason }, 'model could not be loaded')
    this.#settle((waiter) => waiter.reject(this.#unavailable(reason)))
  }

  #unavailable(reason: string): AppError {
    const retryAfterMs = Math.max(0, this.#notBeforeMs - Date.now())
    return new AppError('model-unavailable', `model '${this.#options.model}' could not be loaded: ${reason}`, { retryAfterMs })
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter)
        reject(signal.reason)
      }
      const waiter: Waiter = {
        resolve: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
        reject: (error) => {
          signal.removeEventListener('abort', leave)
          reject(error)
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiters.add(waiter)
    })
  }

  #settle(how: (waiter: Waiter) => void): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) how(waiter)
  }
}

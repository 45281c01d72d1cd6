import type { EngineState } from '../../core/engine.ts'
import { AppError, messageOf } from '../../core/errors.ts'
import type { Command, LoadOptions, Report } from './ipc.ts'
import type { SpawnWorker, WorkerExit, WorkerProcess } from './process.ts'
import { Waiters } from './waiters.ts'

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
  readonly onExit: (error: AppError, exit: WorkerExit) => void
}

/** What a worker says of its model when it is ready. */
export type LoadedModel = Omit<Extract<Report, { type: 'ready' }>, 'type'>

const firstBackoffMs = 100
const longestBackoffMs = 30_000
const pingEveryMs = 10_000
/** A worker's event loop is never busy for more than a second or two: its computing happens beside it. */
const silentForMs = 60_000
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
  readonly #waiters = new Waiters()
  /** Ends the start that is under way. */
  #attempt = new AbortController()
  /** What must be over before everything of ours is gone: the start under way, a worker that is being ended. */
  #starting: Promise<void> = Promise.resolve()
  #ending: Promise<void> = Promise.resolve()
  #state: EngineState = { type: 'stopped' }
  #worker: WorkerProcess | undefined
  #loaded: LoadedModel | undefined
  #failures = 0
  #readySinceMs = 0
  #notBeforeMs = 0
  #timer: NodeJS.Timeout | undefined
  #pinger: NodeJS.Timeout | undefined
  #heardMs = 0

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  get state(): EngineState {
    return this.#state
  }

  /** What the last load found out; absent before the first. */
  get loaded(): LoadedModel | undefined {
    return this.#loaded
  }

  /** Resolves when the worker is ready. Rejects with `model-unavailable` if it cannot be loaded. */
  async ensureReady(signal: AbortSignal): Promise<LoadedModel> {
    signal.throwIfAborted()
    const state = this.#state
    switch (state.type) {
      case 'ready':
        break
      case 'draining':
        throw new AppError('shutting-down', `model '${this.#options.model}' is being unloaded; try again later`)
      case 'failed':
        // (1) A crash: the restart is already planned.
        if (state.retryAtMs !== undefined) break
        // (2) A failed load: nobody tries again before the pause is over, then this request does.
        if (Date.now() < this.#notBeforeMs) throw this.#unavailable(state.reason)
        this.#start()
        break
      case 'stopped':
        this.#start()
        break
      case 'starting':
      case 'loading':
        break
    }
    if (this.#state.type !== 'ready') await this.#waiters.wait(signal)
    return this.#loaded as LoadedModel
  }

  /** Gives the worker something to do, of which `onReport` or `onExit` will tell. Throws when there is no worker just now. */
  send(command: Command): void {
    if (this.#worker === undefined) {
      throw new AppError('engine-failed', `the process that runs model '${this.#options.model}' has just ended; try again`)
    }
    this.#worker.send(command)
  }

  /** Tells the worker about something it does already; without a worker there is nothing to tell. */
  steer(command: Extract<Command, { type: 'cancel' | 'pause' | 'resume' }>): void {
    this.#worker?.send(command)
  }

  /** Treats a worker that no longer answers as crashed, and ends it. */
  abandon(reason: string): void {
    const worker = this.#worker
    if (worker === undefined) return
    this.#ending = worker.kill()
    this.#onExit(worker, { description: reason, lastLines: [], fromOutside: false })
  }

  /** Ends the worker, or the start of one. Resolves when every process of ours is gone. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    clearInterval(this.#pinger)
    const reason = new AppError('shutting-down', `model '${this.#options.model}' is being unloaded`)
    this.#attempt.abort(reason)
    this.#state = { type: 'draining' }
    this.#waiters.fail(reason)
    await Promise.all([this.#worker?.kill(), this.#starting, this.#ending])
    this.#state = { type: 'stopped' }
  }

  #start(): void {
    this.#attempt = new AbortController()
    this.#state = { type: 'starting' }
    this.#starting = this.#load(this.#attempt.signal)
  }

  async #load(signal: AbortSignal): Promise<void> {
    try {
      const options = await this.#options.locate(signal)
      if (signal.aborted) return
      this.#state = { type: 'loading', progress: 0 }
      const worker = this.#options.spawn({
        onReport: (report) => this.#onReport(worker, report),
        onLine: (line) => this.#options.log.debug({ model: this.#options.model, line }, 'worker output'),
      })
      this.#worker = worker
      void worker.exited.then((exit) => this.#onExit(worker, exit))
      worker.send({ type: 'load', options })
    } catch (error) {
      if (!signal.aborted) this.#onLoadFailed(messageOf(error), error)
    }
  }

  #onReport(worker: WorkerProcess, report: Report): void {
    if (worker !== this.#worker) return
    this.#heardMs = Date.now()
    switch (report.type) {
      case 'pong':
        break
      case 'loading':
        if (this.#state.type === 'loading') this.#state = { type: 'loading', progress: report.progress }
        break
      case 'ready':
        if (this.#state.type !== 'loading') break
        this.#state = { type: 'ready' }
        this.#readySinceMs = Date.now()
        this.#onLoaded(worker, report)
        this.#watch(worker)
        this.#waiters.release()
        break
      case 'load-failed':
        this.#worker = undefined
        this.#ending = worker.kill()
        this.#onLoadFailed(report.message)
        break
      case 'log':
        this.#options.log.debug({ model: this.#options.model, level: report.level }, report.message)
        break
      case 'prepared':
      case 'answered':
      case 'failed':
      case 'prompt-read':
      case 'text':
      case 'choice-done':
      case 'done':
        this.#options.onReport(report)
        break
    }
  }

  #onLoaded(worker: WorkerProcess, { type: _, ...loaded }: Extract<Report, { type: 'ready' }>): void {
    this.#loaded = loaded
    const { chatTemplate: __, ...logged } = loaded
    this.#options.log.info({ model: this.#options.model, workerPid: worker.pid, ...logged }, 'model is ready')
  }

  /** Notices a worker that is alive and answers nothing any more: stopped from outside, or lost in native code. */
  #watch(worker: WorkerProcess): void {
    this.#heardMs = Date.now()
    clearInterval(this.#pinger)
    this.#pinger = setInterval(() => {
      if (Date.now() - this.#heardMs > silentForMs) this.abandon(`it did not answer for ${silentForMs / 1000} seconds`)
      else worker.send({ type: 'ping' })
    }, pingEveryMs)
    // A server that has nothing else to do may end.
    this.#pinger.unref()
  }

  #onExit(worker: WorkerProcess, exit: WorkerExit): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    clearInterval(this.#pinger)
    const { model, log, onExit } = this.#options
    const wasReady = this.#state.type === 'ready'
    const message = `the process that runs model '${model}' ended (${exit.description}); try again`
    onExit(new AppError('engine-failed', message), exit)
    if (this.#state.type === 'draining') return
    if (!wasReady) {
      const lastLine = exit.lastLines.at(-1)
      this.#onLoadFailed(
        `the process that loads the model ended (${exit.description})${lastLine === undefined ? '' : `: ${lastLine}`}`,
      )
      return
    }
    if (Date.now() - this.#readySinceMs >= stableAfterMs) this.#failures = 0
    this.#failures += 1
    const pauseMs = backoffMs(this.#failures)
    log.warn({ model, exit: exit.description, lastLines: exit.lastLines, pauseMs }, 'worker ended; restarting')
    this.#state = { type: 'failed', reason: exit.description, retryAtMs: Date.now() + pauseMs }
    this.#timer = setTimeout(() => this.#start(), pauseMs)
  }

  #onLoadFailed(reason: string, cause?: unknown): void {
    if (this.#state.type === 'draining') return
    this.#failures += 1
    this.#notBeforeMs = Date.now() + backoffMs(this.#failures)
    this.#state = { type: 'failed', reason }
    this.#options.log.warn({ model: this.#options.model, reason }, 'model could not be loaded')
    this.#waiters.fail(this.#unavailable(reason, cause))
  }

  #unavailable(reason: string, cause?: unknown): AppError {
    const retryAfterMs = Math.max(0, this.#notBeforeMs - Date.now())
    const message = `model '${this.#options.model}' could not be loaded: ${reason}`
    return new AppError('model-unavailable', message, { retryAfterMs, cause })
  }
}

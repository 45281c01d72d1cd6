import type { EngineState } from '../../contract/engine.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { ObservedState } from '../observed-state.ts'
import { Waiters } from './waiters.ts'

/** The little that a supervisor says to the log. */
export type SupervisorLog = {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

/** How a process ended. */
export type ProcessExit = {
  /** In words for an error message, such as `killed by SIGKILL`. */
  readonly description: string
  readonly lastLines: readonly string[]
  /** Somebody else ended it (an operator, the system when memory ran out): nothing that it was doing was the reason. */
  readonly fromOutside: boolean
}

/** A process that is supervised. It dies with its parent. */
export type SupervisedProcess = {
  readonly pid: number
  /** Resolves when the process is gone, however it went. Never rejects. */
  readonly exited: Promise<ProcessExit>
  /** Ends the process and everything that it started. Resolves when it is gone. */
  kill(): Promise<void>
  /** Asks whether it still answers; an answer is told by `onHeard`. */
  ping(): void
}

/** What a process tells its supervisor. */
export type ProcessHandlers<Loaded> = {
  /** From 0 to 1. */
  onLoading(progress: number): void
  onReady(loaded: Loaded): void
  /** The process is of no use; it is ended. */
  onLoadFailed(message: string): void
  onHeard(): void
}

export type SuperviseOptions<Plan, Loaded, Process extends SupervisedProcess> = {
  readonly model: string
  /** Finds or fetches what is to be run, and says how; runs before each start. */
  readonly locate: (signal: AbortSignal) => Promise<Plan>
  readonly launch: (plan: Plan, handlers: ProcessHandlers<Loaded>) => Process
  readonly log: SupervisorLog
  /** What the log says of a model that is ready. */
  readonly describe: (loaded: Loaded) => object
  /** The process is gone: every request that it had fails with this. */
  readonly onExit: (error: AppError, exit: ProcessExit) => void
}

const firstBackoffMs = 100
const longestBackoffMs = 30_000
const pingEveryMs = 10_000
/**
 * Computing happens beside what answers: nothing is silent for longer than a second or two. Counted in pings and not by the
 * clock, which jumps when the machine was asleep or is set.
 */
const maxUnanswered = 6
/** A process that served this long before it crashed starts its back-off anew. */
const stableAfterMs = 60_000

/** The pause before restart number `failures` in a row (1 is the first). */
export function backoffMs(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** (failures - 1))
}

/**
 * The only writer of the state of one process that runs a model. One that crashes while serving is restarted with back-off,
 * and requests wait for it; a model that cannot be loaded fails the requests that wait, and is tried again by the next one
 * after a pause.
 */
export class ProcessSupervisor<Plan, Loaded, Process extends SupervisedProcess> {
  readonly #options: SuperviseOptions<Plan, Loaded, Process>
  readonly #waiters = new Waiters()
  /** Ends the start that is under way. */
  #attempt = new AbortController()
  /** What must be over before everything of ours is gone: the start under way, a process that is being ended. */
  #starting: Promise<void> = Promise.resolve()
  #ending: Promise<void> = Promise.resolve()
  readonly #observed = new ObservedState()
  #process: Process | undefined
  #loaded: Loaded | undefined
  #failures = 0
  #readySinceMs = 0
  #notBeforeMs = 0
  #timer: NodeJS.Timeout | undefined
  #pinger: NodeJS.Timeout | undefined
  #unanswered = 0

  constructor(options: SuperviseOptions<Plan, Loaded, Process>) {
    this.#options = options
  }

  get state(): EngineState {
    return this.#observed.current
  }

  get #state(): EngineState {
    return this.#observed.current
  }

  set #state(state: EngineState) {
    this.#observed.current = state
  }

  /** Calls the listener after every change of state, until the function returned is called. */
  get onState(): ObservedState['observe'] {
    return this.#observed.observe
  }

  /** What the last load found out; absent before the first. */
  get loaded(): Loaded | undefined {
    return this.#loaded
  }

  /** The process that runs; absent while there is none. */
  get process(): Process | undefined {
    return this.#process
  }

  /** Resolves when the model is ready. Rejects with `model-unavailable` if it cannot be loaded. */
  async ensureReady(signal: AbortSignal): Promise<Loaded> {
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
    return this.#loaded as Loaded
  }

  /** Treats a process that no longer answers as crashed, and ends it. */
  abandon(reason: string): void {
    const process = this.#process
    if (process === undefined) return
    this.#ending = process.kill()
    this.#onExit(process, { description: reason, lastLines: [], fromOutside: false })
  }

  /** Takes no more requests; the process goes on with those that it has. */
  drain(): void {
    clearTimeout(this.#timer)
    const reason = new AppError('shutting-down', `model '${this.#options.model}' is being unloaded; try again later`)
    this.#attempt.abort(reason)
    if (this.#state.type !== 'draining') this.#state = { type: 'draining' }
    this.#waiters.fail(reason)
  }

  /** Ends the process, or the start of one. Resolves when everything of ours is gone; `ensureReady` starts it again. */
  async stop(): Promise<void> {
    this.drain()
    clearInterval(this.#pinger)
    await Promise.all([this.#process?.kill(), this.#starting, this.#ending])
    this.#state = { type: 'stopped' }
  }

  #start(): void {
    this.#attempt = new AbortController()
    this.#state = { type: 'starting' }
    this.#starting = this.#load(this.#attempt.signal)
  }

  async #load(signal: AbortSignal): Promise<void> {
    try {
      const plan = await this.#options.locate(signal)
      if (signal.aborted) return
      this.#state = { type: 'loading', progress: 0 }
      const handlers: ProcessHandlers<Loaded> = {
        onHeard: () => {
          if (process === this.#process) this.#unanswered = 0
        },
        onLoading: (progress) => {
          if (process === this.#process && this.#state.type === 'loading') this.#state = { type: 'loading', progress }
        },
        onReady: (loaded) => {
          if (process === this.#process && this.#state.type === 'loading') this.#onReady(process, loaded)
        },
        onLoadFailed: (message) => {
          if (process !== this.#process) return
          this.#process = undefined
          this.#ending = process.kill()
          this.#onLoadFailed(message)
        },
      }
      const process = this.#options.launch(plan, handlers)
      this.#process = process
      void process.exited.then((exit) => this.#onExit(process, exit))
    } catch (error) {
      if (!signal.aborted) this.#onLoadFailed(messageOf(error), error)
    }
  }

  #onReady(process: Process, loaded: Loaded): void {
    const { model, log, describe } = this.#options
    this.#state = { type: 'ready' }
    this.#readySinceMs = Date.now()
    this.#loaded = loaded
    log.info({ model, workerPid: process.pid, ...describe(loaded) }, 'model is ready')
    this.#watch(process)
    this.#waiters.release()
  }

  /** Notices a process that is alive and answers nothing any more: stopped from outside, or lost in native code. */
  #watch(process: Process): void {
    this.#unanswered = 0
    clearInterval(this.#pinger)
    this.#pinger = setInterval(() => {
      if (this.#unanswered >= maxUnanswered) {
        this.abandon(`it did not answer for ${(maxUnanswered * pingEveryMs) / 1000} seconds`)
        return
      }
      this.#unanswered += 1
      process.ping()
    }, pingEveryMs)
    // A server that has nothing else to do may end.
    this.#pinger.unref()
  }

  #onExit(process: Process, exit: ProcessExit): void {
    if (process !== this.#process) return
    this.#process = undefined
    clearInterval(this.#pinger)
    const { model, log, onExit } = this.#options
    const wasReady = this.#state.type === 'ready'
    const message = `the process that runs model '${model}' ended (${exit.description}); try again`
    // Ended by `stop`, it was ended by us, whatever signal did it: nothing is to be tried again.
    const isStopping = this.#state.type === 'draining'
    onExit(new AppError('engine-failed', message), isStopping ? { ...exit, fromOutside: false } : exit)
    if (isStopping) return
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

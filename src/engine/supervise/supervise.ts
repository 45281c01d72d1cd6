import { Waiters } from '../../base/waiters.ts'
import type { Admit, EngineState, MemoryNeed } from '../../contract/engine.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { ObservedState } from '../shared/observed-state.ts'
import { causeOf } from './cause.ts'

/** The part of a logger that a supervisor needs. */
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
  /** Another process killed it (an operator, or the system without memory), so its work was not the cause. */
  readonly fromOutside: boolean
}

/** A supervised process. It ends with its parent. */
export type SupervisedProcess = {
  readonly pid: number
  /** Resolves when the process has ended, for any reason. Never rejects. */
  readonly exited: Promise<ProcessExit>
  /** Ends the process and its children. Resolves when they have ended. */
  kill(): Promise<void>
  /** Sends a heartbeat; its answer arrives through `onHeard`. */
  ping(): void
}

/** The events of a process for its supervisor. */
export type ProcessHandlers<Loaded> = {
  /** From 0 to 1. */
  onLoading(progress: number): void
  onReady(loaded: Loaded): void
  /** The process cannot load the model; the supervisor ends it. */
  onLoadFailed(message: string): void
  /** Any message of the process shows that it is alive. False: it was abandoned, so the message is ignored. */
  onHeard(): boolean
}

export type Start<Plan> = {
  /** Finds or fetches the files, and decides how to start the process. */
  readonly locate: (signal: AbortSignal) => Promise<Plan>
  /** The memory that the process will need; absent: it is not shared. */
  readonly need?: (plan: Plan) => Promise<MemoryNeed>
}

type SuperviseOptions<Plan, Loaded, Process extends SupervisedProcess> = Start<Plan> & {
  readonly model: string
  readonly launch: (plan: Plan, handlers: ProcessHandlers<Loaded>) => Process
  readonly log: SupervisorLog
  /** The facts of a ready model for the log. */
  readonly describe: (loaded: Loaded) => object
  /** The process has ended: all of its requests fail with this error. */
  readonly onExit: (error: AppError, exit: ProcessExit) => void
}

const firstBackoffMs = 100
const longestBackoffMs = 30_000
const pingEveryMs = 10_000
/**
 * Heartbeats are answered while the model computes, within a second or two. Counted in pings and not by the clock, which jumps when
 * it is set or the machine was asleep.
 */
const maxUnanswered = 6
/** While it loads a model, a driver or a slow disk may keep a process busy. */
const maxUnansweredInLoad = 60
/** After serving for this long, a crash starts the back-off again from its first pause. */
const stableAfterMs = 60_000

/** The pause before restart number `failures` in a row (1 is the first). */
function backoffMs(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** (failures - 1))
}

/**
 * The only writer of the state of one model's process. A process that crashes while serving, or is killed at its first load, is restarted
 * with back-off, and requests wait for it; a failed load fails the waiting requests, and the next request after a pause tries again.
 */
export class ProcessSupervisor<Plan, Loaded, Process extends SupervisedProcess> {
  readonly #options: SuperviseOptions<Plan, Loaded, Process>
  readonly #waiters = new Waiters()
  /** How the most recent caller that knew reserves the memory of a start. */
  #admit: Admit | undefined
  #attempt = new AbortController()
  /** `stop` waits for these: the current start, and a process that is being killed. */
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

  /** Calls the listener after every change of state, until the returned function is called. */
  get onState(): ObservedState['observe'] {
    return this.#observed.observe
  }

  /** The facts of the last load; absent before the first. */
  get loaded(): Loaded | undefined {
    return this.#loaded
  }

  get process(): Process | undefined {
    return this.#process
  }

  /** Resolves when the model is ready. Rejects with `model-unavailable` if it cannot be loaded. */
  async ensureReady(signal: AbortSignal, admit = this.#admit): Promise<Loaded> {
    signal.throwIfAborted()
    this.#admit = admit
    const state = this.#state
    switch (state.type) {
      case 'ready':
        break
      case 'draining':
        throw new AppError('shutting-down', `model '${this.#options.model}' is being unloaded; try again later`)
      case 'failed':
        // (1) A crash: the restart is already scheduled.
        if (state.retryAtMs !== undefined) break
        // (2) A failed load: this request fails during the pause, and tries again after it.
        if (performance.now() < this.#notBeforeMs) throw this.#unavailable(state.reason)
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

  /** Accepts no more requests; the process continues those that it has. */
  drain(): void {
    clearTimeout(this.#timer)
    const reason = new AppError('shutting-down', `model '${this.#options.model}' is being unloaded; try again later`)
    this.#attempt.abort(reason)
    if (this.#state.type !== 'draining') this.#state = { type: 'draining' }
    this.#waiters.fail(reason)
  }

  /** Ends the process, or its start. Resolves when no process is left; `ensureReady` then starts one again. */
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
      const { locate, need, launch } = this.#options
      const plan = await locate(signal)
      if (need !== undefined) await this.#admit?.(await need(plan), signal)
      if (signal.aborted) return
      this.#state = { type: 'loading', progress: 0 }
      const handlers: ProcessHandlers<Loaded> = {
        onHeard: () => {
          if (process !== this.#process) return false
          this.#unanswered = 0
          return true
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
          clearInterval(this.#pinger)
          this.#ending = process.kill()
          this.#onLoadFailed(message)
        },
      }
      const process = launch(plan, handlers)
      this.#process = process
      this.#watch(process)
      void process.exited.then((exit) => this.#onExit(process, exit))
    } catch (error) {
      if (!signal.aborted) this.#onLoadFailed(messageOf(error), error)
    }
  }

  #onReady(process: Process, loaded: Loaded): void {
    const { model, log, describe } = this.#options
    this.#loaded = loaded
    this.#readySinceMs = performance.now()
    this.#state = { type: 'ready' }
    log.info({ model, workerPid: process.pid, ...describe(loaded) }, 'model is ready')
    this.#watch(process)
    this.#waiters.release()
  }

  /** Detects a process that is alive but does not answer: stopped from outside, or hung in native code. */
  #watch(process: Process): void {
    this.#unanswered = 0
    clearInterval(this.#pinger)
    const most = this.#state.type === 'loading' ? maxUnansweredInLoad : maxUnanswered
    this.#pinger = setInterval(() => {
      if (this.#unanswered >= most) {
        this.abandon(`it did not answer for ${(most * pingEveryMs) / 1000} seconds`)
        return
      }
      this.#unanswered += 1
      process.ping()
    }, pingEveryMs)
    // The timer must not keep an idle server alive.
    this.#pinger.unref()
  }

  #onExit(process: Process, exit: ProcessExit): void {
    if (process !== this.#process) return
    this.#process = undefined
    clearInterval(this.#pinger)
    const { model, log, onExit } = this.#options
    const wasReady = this.#state.type === 'ready'
    const message = `the process that runs model '${model}' ended (${exit.description}); try again`
    // Ended by `stop`, so by us, with any signal: requests must not be retried.
    const isStopping = this.#state.type === 'draining'
    onExit(new AppError('engine-failed', message), isStopping ? { ...exit, fromOutside: false } : exit)
    if (isStopping) return
    // Killed by somebody else, for example because the machine ran out of memory: that says nothing about the model, unless it happens
    // again.
    const isFirstKill = exit.fromOutside && this.#failures === 0
    if (!wasReady && !isFirstKill) {
      const cause = causeOf(exit.lastLines)
      this.#onLoadFailed(`the process that loads the model ended (${exit.description})${cause === '' ? '' : `: ${cause}`}`)
      return
    }
    if (wasReady && performance.now() - this.#readySinceMs >= stableAfterMs) this.#failures = 0
    this.#failures += 1
    const pauseMs = backoffMs(this.#failures)
    log.warn({ model, exit: exit.description, lastLines: exit.lastLines, pauseMs }, 'worker ended; restarting')
    this.#state = { type: 'failed', reason: exit.description, retryAtMs: performance.now() + pauseMs }
    this.#timer = setTimeout(() => this.#start(), pauseMs)
  }

  #onLoadFailed(reason: string, cause?: unknown): void {
    if (this.#state.type === 'draining') return
    this.#failures += 1
    this.#notBeforeMs = performance.now() + backoffMs(this.#failures)
    this.#state = { type: 'failed', reason }
    this.#options.log.warn({ model: this.#options.model, reason }, 'model could not be loaded')
    this.#waiters.fail(this.#unavailable(reason, cause))
  }

  #unavailable(reason: string, cause?: unknown): AppError {
    const retryAfterMs = Math.max(0, this.#notBeforeMs - performance.now())
    const message = `model '${this.#options.model}' could not be loaded: ${reason}`
    return new AppError('model-unavailable', message, { retryAfterMs, cause })
  }
}

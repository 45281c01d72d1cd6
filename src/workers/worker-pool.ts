import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { AppError } from '../contract/errors.ts'
import { Handover } from './handover.ts'
import { type Order, reportSchema } from './order.ts'
import type { PrimaryState } from './primary-state.ts'
import { nextRestart } from './restart-rule.ts'

type WorkerPoolOptions = {
  /** The module that a worker runs, and the flags of its Node. */
  readonly module: string
  readonly execArgv: readonly string[]
  readonly count: number
  /** The checked configuration. */
  readonly config: object
  readonly primary: PrimaryState
  readonly log: Logger
}

type WorkerSlot = { readonly index: number; worker: Worker | undefined; failures: number; restart: NodeJS.Timeout | undefined }

/**
 * The worker processes of a server. The primary process accepts connections and gives them to the workers in turn; one that ends is
 * started again, and its requests fail.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: readonly WorkerSlot[]
  readonly #ended = new Map<WorkerSlot, Promise<void>>()
  readonly #handover = new Handover()
  #startConfig: object
  #isDraining = false
  #hasStarted = false
  #onFailure: (error: Error) => void = () => undefined
  /** Rejects when a worker cannot start in the beginning. */
  readonly failed: Promise<never>

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#startConfig = options.config
    this.#slots = Array.from({ length: options.count }, (_, index) => {
      return { index, worker: undefined, failures: 0, restart: undefined }
    })
    this.failed = new Promise((_, reject) => {
      this.#onFailure = reject
    })
    this.failed.catch(() => undefined)
  }

  /** Starts all. Resolves with the address when all of them listen on it; rejects when one cannot start. */
  async start(): Promise<string> {
    const { module, execArgv } = this.#options
    cluster.setupPrimary({ exec: module, args: [], execArgv: [...execArgv], serialization: 'advanced' })
    // All of them get the same free port, where any will do.
    const [url = ''] = await Promise.race([Promise.all(this.#slots.map((slot) => this.#launch(slot))), this.failed])
    this.#hasStarted = true
    return url
  }

  /** Gives all of them another configuration. `startConfig`: what those that start later begin with. */
  reconfigure(config: object, startConfig: object): void {
    this.#startConfig = startConfig
    for (const { worker } of this.#slots) if (worker !== undefined) post(worker, { type: 'reconfigure', config })
  }

  /** Lets all finish what they do within their grace period. Resolves when they have ended. */
  async drain(): Promise<void> {
    this.#isDraining = true
    for (const { worker, restart } of this.#slots) {
      clearTimeout(restart)
      if (worker !== undefined) post(worker, { type: 'drain' })
    }
    await Promise.all(this.#ended.values())
  }

  /** Ends all workers together. */
  kill(): void {
    for (const { worker } of this.#slots) worker?.process.kill('SIGKILL')
  }

  /** Resolves with the address when the worker listens. */
  #launch(slot: WorkerSlot): Promise<string> {
    const { primary, log } = this.#options
    const worker = cluster.fork()
    this.#handover.watch(worker)
    const startedMs = performance.now()
    slot.worker = worker
    const port = primary.connect({ send: (message) => post(worker, message) })
    const listening = new Promise<string>((resolve) => {
      worker.on('message', (message: unknown) => {
        if (port.take(message)) return
        const { data } = reportSchema.safeParse(message)
        if (data?.type === 'waiting') this.#begin(worker, slot)
        else if (data?.type === 'listening') resolve(data.url)
        else if (data?.type === 'failed') this.#onStartFailure(slot, new AppError(data.code, data.message))
      })
    })
    const ended = new Promise<void>((resolve) => {
      const end = (how: string) => {
        port.close()
        slot.worker = undefined
        this.#ended.delete(slot)
        if (!this.#isDraining && !this.#hasStarted)
          this.#onFailure(new AppError('internal', `a worker ended (${how}) before it listened`))
        else if (!this.#isDraining) this.#restart(slot, performance.now() - startedMs, how)
        resolve()
      }
      worker.once('exit', (code, signal) => end(signal ?? `code ${code}`))
      worker.on('error', (error) => {
        log.error({ err: error, worker: slot.index }, 'a worker failed')
        // Without a process there is no exit: the system has no room for one.
        if (worker.process.pid === undefined) end(error.message)
      })
    })
    this.#ended.set(slot, ended)
    return listening
  }

  #begin(worker: Worker, { index }: WorkerSlot): void {
    const { count } = this.#options
    if (this.#isDraining) post(worker, { type: 'drain' })
    else post(worker, { type: 'start', config: this.#startConfig, index, count })
  }

  #onStartFailure({ index }: WorkerSlot, error: AppError): void {
    if (this.#hasStarted) this.#options.log.error({ worker: index, code: error.code }, error.message)
    else this.#onFailure(error)
  }

  #restart(slot: WorkerSlot, servedMs: number, how: string): void {
    const { failures, pauseMs } = nextRestart(slot.failures, servedMs)
    slot.failures = failures
    this.#options.log.error({ worker: slot.index, pauseMs }, `a worker ended (${how}) and is started again`)
    slot.restart = setTimeout(() => void this.#launch(slot), pauseMs)
  }
}

/** Sends a message; one to a process that is ending is lost. */
function post(worker: Worker, message: Order | object): void {
  if (worker.isConnected()) worker.process.send(message, () => undefined)
}

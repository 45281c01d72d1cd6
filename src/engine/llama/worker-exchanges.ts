import { Queue } from '../../base/queue.ts'
import { afterAwake } from '../../base/time/awake.ts'
import { orAborted } from '../../base/time-limit.ts'
import { AppError } from '../../contract/errors.ts'
import { cancelOnWorker } from './cancel-on-worker.ts'
import type { ExchangeCommand, RequestReport } from './channel/ipc.ts'
import type { WorkerReply, WorkerRequest } from './channel/worker-requests.ts'
import type { Inboxes } from './inboxes.ts'
import type { Supervisor } from './supervisor.ts'
import { tookTooLong } from './took-too-long.ts'

type WorkerExchangesOptions = {
  readonly supervisor: Pick<Supervisor, 'ensureReady' | 'send' | 'steer' | 'abandon'>
  readonly inboxes: Inboxes
  /** How long a reply may take, counted from the turn of its command, before the worker counts as hung. */
  readonly timeoutMs: number
}

/**
 * Sends commands with one reply each to the worker, one at a time: only then does a late reply show that the worker hangs, and
 * at which command.
 */
export class WorkerExchanges {
  readonly #options: WorkerExchangesOptions
  readonly #turns = new Queue()
  /** The failure of all requests of the last worker, if another process killed it. */
  #killedFromOutside: AppError | undefined
  #asked = 0

  constructor(options: WorkerExchangesOptions) {
    this.#options = options
  }

  /** The worker has ended; its requests fail with this error. */
  onExit(error: AppError, { fromOutside }: { readonly fromOutside: boolean }): void {
    this.#killedFromOutside = fromOutside ? error : undefined
  }

  /** Fails every exchange that has not begun. */
  refuse(error: AppError): void {
    this.#turns.refuse(error)
  }

  /** Ids of requests come from their protocols and never have this form. */
  nextId(): string {
    this.#asked += 1
    return `ask ${this.#asked}`
  }

  /**
   * Runs `work`, an exchange with the worker, after all earlier ones. The caller has awaited `ensureReady`, so that no turn is
   * held while the model loads. If another process killed the worker, the work did not cause it and runs once more.
   */
  inTurn<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { supervisor } = this.#options
    const turn = this.#turns.run(signal, async () => {
      // The worker may have ended during an earlier exchange.
      await supervisor.ensureReady(signal)
      return this.orAgain(work, signal)
    })
    // An exchange that has begun keeps its turn until it ends, even if its caller has gone.
    return orAborted(turn, signal)
  }

  /** Runs `work` once more, on the next worker, where another process killed the first one; `onRepeat` gets the failure. */
  async orAgain<T>(
    work: () => Promise<T>,
    signal: AbortSignal,
    onRepeat: (failure: unknown) => void = () => undefined,
  ): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error !== this.#killedFromOutside) throw error
      onRepeat(error)
      await this.#options.supervisor.ensureReady(signal)
      return work()
    }
  }

  /** Sends a short request when its turn comes. */
  async ask<T extends WorkerReply['type']>(request: WorkerRequest, expected: T, signal: AbortSignal): Promise<ReplyOf<T>> {
    const work = () => this.exchange({ type: 'ask', id: this.nextId(), request }, 'answered')
    return checked((await this.inTurn(work, signal)).reply, expected)
  }

  /**
   * Sends a request that computes, concurrently with others; the caller has a slot and has awaited `ensureReady`. After an abort it
   * still waits for the reply: only then is the slot free.
   */
  async compute<T extends WorkerReply['type']>(request: WorkerRequest, expected: T, signal: AbortSignal): Promise<ReplyOf<T>> {
    signal.throwIfAborted()
    const id = this.nextId()
    let onStopped: (() => void) | undefined
    const cancel = () => {
      onStopped = cancelOnWorker(this.#options.supervisor, id)
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const send = () => this.exchange({ type: 'ask', id, request }, 'answered', Number.POSITIVE_INFINITY)
      const { reply } = await this.orAgain(send, signal)
      if (reply.type === 'cancelled') throw AppError.from(signal.reason)
      return checked<WorkerReply, T>(reply, expected)
    } finally {
      signal.removeEventListener('abort', cancel)
      onStopped?.()
    }
  }

  /**
   * Sends a command with one reply; only within a turn, or when no turn will come. Ends when the worker has replied or ended, even if the
   * client has disconnected. A worker that does not reply in time is abandoned.
   */
  async exchange<T extends RequestReport['type']>(
    command: ExchangeCommand,
    expected: T,
    limitMs = this.#options.timeoutMs,
  ): Promise<Extract<RequestReport, { type: T }>> {
    const { supervisor, inboxes } = this.#options
    const inbox = inboxes.open(command.id)
    const onHung = () => {
      const error = tookTooLong(command, limitMs)
      inbox.fail(error)
      supervisor.abandon(error.message)
    }
    const cancelWatch = Number.isFinite(limitMs) ? afterAwake(limitMs, onHung) : undefined
    try {
      supervisor.send(command)
      return checked(await inbox.next(), expected)
    } finally {
      cancelWatch?.()
      inboxes.close(command.id)
    }
  }
}

type ReplyOf<T extends WorkerReply['type']> = Extract<WorkerReply, { type: T }>

function checked<M extends RequestReport | WorkerReply, T extends M['type']>(message: M, expected: T): Extract<M, { type: T }> {
  if (message.type !== expected) throw unexpected(message)
  return message as Extract<M, { type: T }>
}

/** The failure for a message of the wrong type. */
export function unexpected({ type }: RequestReport | WorkerReply): AppError {
  return new AppError('internal', `the worker answered with an unexpected '${type}' message`)
}

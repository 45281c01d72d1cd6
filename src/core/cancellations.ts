import { AppError } from '../contract/errors.ts'

/** Who or what ended a request early. */
export type CancelReason = 'client-gone' | 'shutting-down'

type Running = { readonly controller: AbortController; readonly connection: object | undefined }

/**
 * Owns the one `AbortController` of every running request. Everything that wants a request to end calls `cancel`; the
 * first reason wins, and the signal's `reason` is an `AppError` that says it.
 */
export class Cancellations {
  readonly #running = new Map<string, Running>()
  /**
   * Those that never fired, for the next request of the same connection. Node 20 takes ten microseconds to make one and to listen
   * to it, for each signal has a shape of its own.
   */
  readonly #unused = new WeakMap<object, AbortController>()

  /**
   * Throws `request-conflict` for an id that is already running; the running request is not disturbed. On the same `connection`
   * the signal may be that of an earlier request, which has ended: whoever listens to a signal leaves it when the work is over.
   */
  open(id: string, connection?: object): AbortSignal {
    if (this.#running.has(id)) {
      throw new AppError('request-conflict', `a request with the id '${id}' is already running; use another id`)
    }
    const unused = connection === undefined ? undefined : this.#unused.get(connection)
    // A request that is pipelined behind this one gets one of its own.
    if (connection !== undefined) this.#unused.delete(connection)
    const controller = unused ?? new AbortController()
    this.#running.set(id, { controller, connection })
    return controller.signal
  }

  /** Whether a running request was told to stop by this call. */
  cancel(id: string, reason: CancelReason): boolean {
    const controller = this.#running.get(id)?.controller
    if (controller === undefined || controller.signal.aborted) return false
    controller.abort(cancelError(reason))
    return true
  }

  /** How many running requests were told to stop by this call. */
  cancelAll(reason: CancelReason): number {
    return [...this.#running.keys()].filter((id) => this.cancel(id, reason)).length
  }

  /** Forgets a request that has ended. Idempotent. */
  close(id: string): void {
    const ended = this.#running.get(id)
    if (ended === undefined) return
    this.#running.delete(id)
    const { controller, connection } = ended
    if (connection !== undefined && !controller.signal.aborted) this.#unused.set(connection, controller)
  }

  get size(): number {
    return this.#running.size
  }
}

function cancelError(reason: CancelReason): AppError {
  switch (reason) {
    case 'client-gone':
      return new AppError('cancelled', 'the client closed the connection before the reply was complete')
    case 'shutting-down':
      return new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
  }
}

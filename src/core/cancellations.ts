import { AppError } from './errors.ts'

/** Who or what ended a request early. */
export type CancelReason = 'client-gone' | 'shutting-down'

/**
 * Owns the one `AbortController` of every running request. Everything that wants a request to end calls `cancel`; the
 * first reason wins, and the signal's `reason` is an `AppError` that says it.
 */
export class Cancellations {
  readonly #controllers = new Map<string, AbortController>()

  /** Rejects an id that is already running with `request-conflict`; the running request is not disturbed. */
  open(id: string): AbortSignal {
    if (this.#controllers.has(id)) {
      throw new AppError('request-conflict', `a request with the id '${id}' is already running; use another id`)
    }
    const controller = new AbortController()
    this.#controllers.set(id, controller)
    return controller.signal
  }

  /** Whether a running request was told to stop by this call. */
  cancel(id: string, reason: CancelReason): boolean {
    const controller = this.#controllers.get(id)
    if (controller === undefined || controller.signal.aborted) return false
    controller.abort(cancelError(reason))
    return true
  }

  /** How many running requests were told to stop by this call. */
  cancelAll(reason: CancelReason): number {
    return [...this.#controllers.keys()].filter((id) => this.cancel(id, reason)).length
  }

  /** Forgets a request that has ended. Idempotent. */
  close(id: string): void {
    this.#controllers.delete(id)
  }

  get size(): number {
    return this.#controllers.size
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

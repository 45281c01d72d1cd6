import type { CancelKeys, CancelReason } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'

/** The keys by which a running request can be cancelled, and its owner. */
export type RunDescription = CancelKeys & {
  readonly id: string
  /** The id of the principal that sent it. */
  readonly owner: string
}

/** Selects running requests: all given fields must match. */
export type RunFilter = CancelKeys & { readonly id?: string; readonly owner?: string; readonly model?: string }

/** One running request. */
export interface RunHandle {
  /** Aborted by the first `cancel`, with an `AppError` as reason. */
  readonly signal: AbortSignal
  /** Records the model, once it is resolved. */
  servedBy(model: string): void
  /** Whether this call cancelled the request: only the first one does. */
  cancel(reason: CancelReason): boolean
  /** Unregisters the request when it has ended. Idempotent. */
  close(): void
}

/** A class, because all requests then share one hidden class: objects of closures and spreads cost twice as much (measured). */
class Run implements RunHandle {
  readonly description: RunDescription
  readonly signal: AbortSignal
  model: string | undefined = undefined
  readonly #controller = new AbortController()
  readonly #running: Map<string, Run>

  constructor(description: RunDescription, running: Map<string, Run>) {
    this.description = description
    this.signal = this.#controller.signal
    this.#running = running
  }

  servedBy(model: string): void {
    this.model = model
  }

  cancel(reason: CancelReason): boolean {
    if (this.signal.aborted) return false
    this.#controller.abort(cancelError(reason))
    return true
  }

  close(): void {
    const { id } = this.description
    if (this.#running.get(id) === this) this.#running.delete(id)
  }
}

/** Owns the `AbortController` of every running request. All cancellations go through here. */
export class Cancellations {
  readonly #running = new Map<string, Run>()

  /** Throws `request-conflict` for an id that is already running; the running request is not disturbed. */
  open(description: RunDescription): RunHandle {
    const { id } = description
    if (this.#running.has(id)) {
      throw new AppError('request-conflict', `a request with the id '${id}' is already running; use another id`)
    }
    const run = new Run(description, this.#running)
    this.#running.set(id, run)
    return run
  }

  /** Cancels the matching requests. Returns how many this call cancelled. */
  cancelWhere(filter: RunFilter, reason: CancelReason): number {
    return this.#matching(filter).filter((run) => run.cancel(reason)).length
  }

  /** The matching requests. */
  list(filter: RunFilter = {}): readonly (RunDescription & { readonly model?: string })[] {
    return this.#matching(filter).map(({ description, model }) => ({ ...description, ...(model !== undefined && { model }) }))
  }

  get size(): number {
    return this.#running.size
  }

  #matching(filter: RunFilter): Run[] {
    const fields = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof RunFilter, string][]
    return [...this.#running.values()].filter(({ description, model }) =>
      fields.every(([name, value]) => (name === 'model' ? model : description[name]) === value),
    )
  }
}

function cancelError(reason: CancelReason): AppError {
  switch (reason) {
    case 'client-gone':
      return new AppError('cancelled', 'the client left before the reply was complete')
    case 'requested':
      return new AppError('cancelled', 'the request was cancelled', { keepsOutput: 'cancelled' })
    case 'deadline':
      return new AppError('cancelled', 'the request took longer than its deadline allows', { keepsOutput: 'length' })
    case 'over-budget':
      return new AppError('cancelled', 'the request used up its budget')
    case 'unloaded':
      return new AppError('model-unavailable', 'the model was unloaded while it answered; try again')
    case 'shutting-down':
      return new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
  }
}

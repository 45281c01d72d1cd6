import { ChurnMap } from '../../base/churn.ts'
import type { CancelKeys, CancelReason, RequestedCancel } from '../../contract/context.ts'
import { AppError } from '../../contract/errors.ts'
import { EarlyCancels } from './early-cancels.ts'

/** The keys by which a running request can be cancelled, and its owner. */
type RunDescription = CancelKeys & {
  readonly id: string
  /** The id of the principal that sent it. */
  readonly owner: string
}

/** Selects running requests: all given fields must match. */
type RunFilter = CancelKeys & { readonly id?: string; readonly owner?: string; readonly model?: string }

/** A cancelled request that has ended. */
export type StoppedRun = RunDescription & {
  readonly model?: string
  readonly reason: CancelReason
  /** The principal that asked for it. */
  readonly by?: string
  /** The limit of time that it reached. */
  readonly limit?: string
  /** From the start of the request to the cancel. */
  readonly afterMs: number
  /** From the cancel to the end of the work. */
  readonly endedMs: number
  /** The tokens that were generated in that time, where the engine counts them. */
  readonly tokensAfterCancel: number
}

/** One running request. */
export interface RunHandle {
  /** Aborted by the first `cancel`, with an `AppError` as reason. */
  readonly signal: AbortSignal
  /** Records the model once it is resolved. */
  servedBy(model: string): void
  /** Returns whether this call cancelled the request: only the first one does. `by`: the principal that asked for it. */
  cancel(reason: CancelReason, by?: string): boolean
  /** As `cancel` with reason `client-gone`, for a caller in this process; `cause` is the reason of its signal. */
  abandon(cause: unknown): boolean
  /** As `cancel` with reason `deadline`, for a time limit; `error` names it. */
  expire(error: AppError): boolean
  addTokensAfterCancel(count: number): void
  /** Records that the engine has stopped and the slot is free, which may be long before the request ends. */
  workEnded(): void
  /** Unregisters the request when it has ended. Idempotent. */
  close(): void
}

type CancellationsOptions = {
  /** Milliseconds of a monotonic clock. */
  now?(): number
  onCancel?(reason: CancelReason): void
  /** Called for each cancelled request, when it has ended. */
  onStopped?(run: StoppedRun): void
  /** Called for each request, when it has ended, after `onStopped`. */
  onClosed?(id: string): void
}

/** State shared by the requests of a process. */
type Shared = Required<CancellationsOptions> & { readonly running: ChurnMap<string, Run> }

type Stop = {
  readonly reason: CancelReason
  readonly by: string | undefined
  readonly limit?: string
  readonly atMs: number
}

/** A class, because all requests then share one hidden class: objects of closures and spreads cost twice as much (measured). */
class Run implements RunHandle {
  readonly description: RunDescription
  model: string | undefined = undefined
  readonly #shared: Shared
  readonly #controller = new AbortController()
  readonly #startedMs: number
  #tokensAfterCancel = 0
  #workEndedMs: number | undefined = undefined
  #cancelled: Stop | undefined = undefined

  constructor(description: RunDescription, shared: Shared) {
    this.description = description
    this.#shared = shared
    this.#startedMs = shared.now()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  servedBy(model: string): void {
    this.model = model
  }

  cancel(reason: CancelReason, by?: string): boolean {
    return this.#stop({ reason, by }, cancelError(reason))
  }

  abandon(cause: unknown): boolean {
    const error = new AppError('cancelled', 'the caller aborted the generation', { stopsRun: true, cause })
    return this.#stop({ reason: 'client-gone', by: undefined }, error)
  }

  expire(error: AppError): boolean {
    return this.#stop({ reason: 'deadline', by: undefined, limit: error.message }, error)
  }

  #stop(why: Pick<Stop, 'reason' | 'by' | 'limit'>, error: AppError): boolean {
    if (this.#cancelled !== undefined) return false
    this.#cancelled = { ...why, atMs: this.#shared.now() }
    this.#shared.onCancel(why.reason)
    this.#controller.abort(error)
    return true
  }

  addTokensAfterCancel(count: number): void {
    this.#tokensAfterCancel += count
  }

  workEnded(): void {
    this.#workEndedMs = this.#shared.now()
  }

  close(): void {
    const { running } = this.#shared
    const { description } = this
    if (running.get(description.id) !== this) return
    running.delete(description.id)
    if (this.#cancelled !== undefined) this.#reportStop(this.#cancelled)
    this.#shared.onClosed(description.id)
  }

  #reportStop({ reason, by, limit, atMs }: Stop): void {
    const { now, onStopped } = this.#shared
    const { description, model } = this
    onStopped({
      reason,
      afterMs: atMs - this.#startedMs,
      endedMs: Math.max(0, (this.#workEndedMs ?? now()) - atMs),
      tokensAfterCancel: this.#tokensAfterCancel,
      ...(by !== undefined && { by }),
      ...(limit !== undefined && { limit }),
      ...(model !== undefined && { model }),
      ...description,
    })
  }
}

/**
 * Owns the signal of every running request. All cancellations go through here. Its methods are synchronous: a cancel and the
 * start of its run never miss each other.
 */
export class Cancellations {
  readonly #running = new ChurnMap<string, Run>()
  readonly #shared: Shared
  readonly #early: EarlyCancels

  constructor({
    now = () => performance.now(),
    onCancel = () => undefined,
    onStopped = () => undefined,
    onClosed = () => undefined,
  }: CancellationsOptions = {}) {
    this.#shared = { now, onCancel, onStopped, onClosed, running: this.#running }
    this.#early = new EarlyCancels(now)
  }

  /**
   * Registers a request. It is cancelled immediately if a cancel of its cancel id came first. Throws `request-conflict` for an id that is
   * already running; the running request is not disturbed.
   */
  open(description: RunDescription): RunHandle {
    const { id, owner, cancelId } = description
    if (this.#running.has(id)) {
      throw new AppError('request-conflict', `a request with the id '${id}' is already running; use another id`)
    }
    const run = new Run(description, this.#shared)
    this.#running.set(id, run)
    this.#early.prune()
    if (cancelId !== undefined && this.#early.take(owner, cancelId)) run.cancel('requested', owner)
    return run
  }

  /**
   * Cancels requests for a caller: its own, or for an administrator any. A cancel id excludes the other keys, and is kept for a while when
   * nothing runs with it. Returns how many requests this call cancelled.
   */
  cancelRequested({ cancelId, sessionId, replyIds, by, isAdmin }: RequestedCancel): number {
    this.#early.prune()
    const isMeant = ({ description }: Run): boolean => {
      if (!isAdmin && description.owner !== by) return false
      if (cancelId !== undefined) return description.cancelId === cancelId
      return replyIds.includes(description.id) || (sessionId !== undefined && description.sessionId === sessionId)
    }
    const runs = [...this.#running.values()].filter(isMeant)
    if (cancelId !== undefined && runs.length === 0) this.#early.add(isAdmin ? undefined : by, cancelId)
    return runs.filter((run) => run.cancel('requested', by)).length
  }

  /** Cancels the matching requests; `by`: the principal that asked for it. Returns how many this call cancelled. */
  cancelWhere(filter: RunFilter, reason: CancelReason, by?: string): number {
    return this.#matching(filter).filter((run) => run.cancel(reason, by)).length
  }

  list(filter: RunFilter = {}): readonly (RunDescription & { readonly model?: string })[] {
    return this.#matching(filter).map(({ description, model }) => ({ ...description, ...(model !== undefined && { model }) }))
  }

  get size(): number {
    return this.#running.size
  }

  /** The number of cancels kept for later runs. */
  get earlySize(): number {
    return this.#early.size
  }

  #matching(filter: RunFilter): Run[] {
    const fields = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof RunFilter, string][]
    return [...this.#running.values()].filter(({ description, model }) =>
      fields.every(([name, value]) => (name === 'model' ? model : description[name]) === value),
    )
  }
}

function cancelError(reason: CancelReason): AppError {
  const stopsRun = true
  switch (reason) {
    case 'client-gone':
      return new AppError('cancelled', 'the client left before the reply was complete', { stopsRun })
    case 'requested':
      return new AppError('cancelled', 'the request was cancelled', { stopsRun, keepsOutput: 'cancelled' })
    case 'deadline':
      return new AppError('cancelled', 'the request took longer than its deadline allows', { stopsRun, keepsOutput: 'length' })
    case 'over-budget':
      return new AppError('cancelled', 'the request used up its budget', { stopsRun })
    case 'unloaded':
      return new AppError('model-unavailable', 'the model was unloaded while it answered; try again', { stopsRun })
    case 'shutting-down':
      return new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later', { stopsRun })
  }
}

import type { AttemptEnd, AttemptOutcome, FleetObserver } from '../../../contract/attempts.ts'
import { AppError } from '../../../contract/errors.ts'
import type { EngineEvent, FinishReason, Usage } from '../../../contract/event.ts'
import { isCapabilityError } from '../servers/check-upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { hostOf } from '../transport/upstream-url.ts'
import type { RequestOutcome } from './pool.ts'
import type { AcquiredReplica } from './replicas.ts'

export type WatchDeps = { readonly observer?: FleetObserver | undefined; now(): number }

/** What a reply said at its end. */
export type ReplyFacts = { readonly usage?: Usage; readonly finishReasons: readonly FinishReason[] }

/** How an attempt ended. */
type Ended =
  | { readonly type: 'answered'; readonly facts?: ReplyFacts }
  | { readonly type: 'not-sent' }
  | { readonly type: 'failed'; readonly error: unknown }

/** The attempts at one request, one after the other, as observers see them. */
export class WatchedAttempts {
  readonly #deps: WatchDeps & { readonly observer: FleetObserver }
  readonly #signal: AbortSignal
  #retry = 0
  #beganMs = 0
  #firstMs: number | undefined = undefined

  constructor(deps: WatchDeps & { readonly observer: FleetObserver }, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
  }

  /** An attempt begins. Returns the replica, whose reply is noted when it begins. */
  began<Replica extends AcquiredReplica>(replica: Replica): Replica {
    this.#beganMs = this.#deps.now()
    this.#firstMs = undefined
    return {
      ...replica,
      confirm: () => {
        this.#firstMs ??= this.#deps.now()
        replica.confirm()
      },
    }
  }

  /** It has ended; where nothing was sent, it was none. */
  ended({ endpoint, upstream }: AcquiredReplica, end: Ended, outcome: RequestOutcome): void {
    if (end.type === 'not-sent' || (end.type === 'failed' && isCapabilityError(end.error))) return
    this.#deps.observer.attemptEnded({
      server: hostOf(endpoint.url),
      kind: upstream.profile.name,
      model: upstream.model,
      retry: this.#retry,
      ...howEnded(end, outcome, this.#signal),
      ...(this.#firstMs !== undefined && { firstChunkMs: this.#firstMs - this.#beganMs }),
      ...(end.type === 'answered' && end.facts),
    })
    this.#retry += 1
  }
}

/** Undefined where nobody wants to hear of the attempts. */
export function watchAttempts(
  { observer, now }: WatchDeps,
  { isAuxiliary, signal }: { readonly isAuxiliary: boolean; readonly signal: AbortSignal },
): WatchedAttempts | undefined {
  return observer === undefined || isAuxiliary ? undefined : new WatchedAttempts({ observer, now }, signal)
}

/** What the last events of a reply say. */
export function replyFacts(events: readonly EngineEvent[]): ReplyFacts {
  const usage = events.find((event) => event.type === 'usage')?.usage
  const finishReasons = events.flatMap((event) => (event.type === 'finish' ? [event.reason] : []))
  return { finishReasons, ...(usage !== undefined && { usage }) }
}

function howEnded(end: Ended, outcome: RequestOutcome, signal: AbortSignal): Pick<AttemptEnd, 'outcome' | 'error'> {
  if (end.type !== 'failed') return { outcome: 'ok' }
  if (signal.aborted) return { outcome: 'cancelled', error: 'cancelled' }
  const error = errorType(end.error)
  return { outcome: error === 'silent' ? 'failed' : outcomes[outcome.type], error }
}

/** Neutral: the failure says nothing about the server. */
const outcomes: Readonly<Record<RequestOutcome['type'], AttemptOutcome>> = {
  ok: 'ok',
  busy: 'busy',
  failed: 'failed',
  doubtful: 'failed',
  neutral: 'refused',
}

/** A word for an error, from a closed set. */
function errorType(error: unknown): string {
  if (error instanceof UpstreamError) return error.failure.type === 'status' ? String(error.failure.status) : error.failure.type
  return AppError.from(error).code
}

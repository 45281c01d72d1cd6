import { hostOf } from '../../../../base/text/server-url.ts'
import type { AttemptEnd, AttemptOutcome, AttemptStart, FleetObserver } from '../../../../contract/attempts.ts'
import type { CallOrigin } from '../../../../contract/call-origin.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { EngineEvent, FinishReason, Usage } from '../../../../contract/event.ts'
import type { AttemptSpan, TraceContext } from '../../../../contract/tracing.ts'
import { isCapabilityError } from '../../servers/check-upstream.ts'
import type { Endpoint } from '../../transport/client.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import type { AcquiredReplica } from '../acquired-replica.ts'
import type { RequestOutcome } from '../pool.ts'
import { isTimeLimit } from './movable-attempt.ts'

export type WatchDeps = { readonly observer?: FleetObserver | undefined; now(): number }

export type ReplyFacts = { readonly usage?: Usage; readonly finishReasons: readonly FinishReason[] }

type Ended =
  | { readonly type: 'answered'; readonly facts?: ReplyFacts }
  | { readonly type: 'not-sent' }
  | { readonly type: 'failed'; readonly error: unknown }

type WatchedTask = {
  readonly isAuxiliary: boolean
  readonly signal: AbortSignal
  readonly origin?: CallOrigin | undefined
}

/** Reports the attempts at one request, one after the other, to metrics and traces. */
class WatchedAttempts {
  readonly #deps: WatchDeps
  readonly #task: WatchedTask
  #start: AttemptStart | undefined = undefined
  #span: AttemptSpan | undefined = undefined
  #retry = 0
  #beganMs = 0
  #firstMs: number | undefined = undefined

  constructor(deps: WatchDeps, task: WatchedTask) {
    this.#deps = deps
    this.#task = task
  }

  /** Begins an attempt. Returns its span in the trace; undefined: the request's. */
  began({ endpoint, upstream, affinity }: AcquiredReplica): TraceContext | undefined {
    this.#beganMs = this.#deps.now()
    this.#firstMs = undefined
    this.#start = {
      server: hostAt(endpoint),
      kind: upstream.profile.name,
      model: upstream.model,
      retry: this.#retry,
      ...(affinity !== undefined && { affinity }),
    }
    this.#span = this.#task.origin?.trace?.beginAttempt?.(this.#start)
    return this.#span?.context
  }

  /** The same, and notes when the reply begins. */
  noting(confirm: () => void): () => void {
    return () => {
      this.#firstMs ??= this.#deps.now()
      confirm()
    }
  }

  /** Ends an attempt. An attempt that sent nothing is not reported. */
  ended(end: Ended, outcome: RequestOutcome): void {
    if (this.#start === undefined || end.type === 'not-sent' || (end.type === 'failed' && isCapabilityError(end.error))) return
    // Assigned rather than spread, which would take ten times as long as the count itself.
    const ended: { -readonly [Key in keyof AttemptEnd]: AttemptEnd[Key] } = howEnded(end, outcome, this.#task.signal)
    if (this.#firstMs !== undefined) ended.firstChunkMs = this.#firstMs - this.#beganMs
    if (end.type === 'answered' && end.facts !== undefined) {
      const { usage, finishReasons } = end.facts
      ended.finishReasons = finishReasons
      if (usage !== undefined) ended.usage = usage
    }
    this.#deps.observer?.attemptEnded(this.#start, ended)
    this.#span?.end(ended)
    this.#task.origin?.onAttempt?.(this.#start, ended)
    this.#retry += 1
  }
}

/** Undefined if nobody observes the attempts. */
export function watchAttempts(deps: WatchDeps, task: WatchedTask): WatchedAttempts | undefined {
  const { trace, onAttempt } = task.origin ?? {}
  const isWatched = deps.observer !== undefined || trace?.beginAttempt !== undefined || onAttempt !== undefined
  return isWatched && !task.isAuxiliary ? new WatchedAttempts(deps, task) : undefined
}

/** Parsing a URL takes longer than everything else here. */
const hosts = new WeakMap<Endpoint, string>()

function hostAt(endpoint: Endpoint): string {
  const known = hosts.get(endpoint)
  if (known !== undefined) return known
  const host = hostOf(endpoint.url)
  hosts.set(endpoint, host)
  return host
}

export function replyFacts(events: readonly EngineEvent[]): ReplyFacts {
  const facts: { usage?: Usage; readonly finishReasons: FinishReason[] } = { finishReasons: [] }
  for (const event of events) {
    if (event.type === 'finish') facts.finishReasons.push(event.reason)
    else if (event.type === 'usage') facts.usage ??= event.usage
  }
  return facts
}

function howEnded(end: Ended, outcome: RequestOutcome, signal: AbortSignal): Pick<AttemptEnd, 'outcome' | 'error'> {
  if (end.type !== 'failed') return { outcome: 'ok' }
  if (isTimeLimit(signal.reason)) return { outcome: 'failed', error: signal.reason.code }
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
  lost: 'failed',
  neutral: 'refused',
}

/** A word for an error, from a closed set. */
function errorType(error: unknown): string {
  if (error instanceof UpstreamError) return error.failure.type === 'status' ? String(error.failure.status) : error.failure.type
  return AppError.from(error).code
}

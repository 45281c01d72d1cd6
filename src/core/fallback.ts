import type { Emit } from '../base/emit.ts'
import type { RequestContext } from '../contract/context.ts'
import type { ServerReport } from '../contract/engine.ts'
import { AppError, type ErrorCode } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { ModelViewer } from '../contract/principal.ts'
import type { ServedModel } from '../contract/served-model.ts'
import { holdingStart } from './hold-start.ts'

/** A request that another model served. */
export type Fallback = {
  /** Of the request. */
  readonly id: string
  /** The model that was asked for, and why it could not serve. */
  readonly model: string
  readonly error: AppError
  readonly servedBy: string
}

/** Which models serve in place of one that cannot. */
export type Fallbacks = {
  /** Those that the caller may use, in the order in which they are tried. */
  of(model: ServedModel, viewer: ModelViewer): readonly ServedModel[]
  /** Another model has begun to answer. */
  onFallback?(fallback: Fallback): void
}

/** The failures of a model that cannot serve: those of 5xx, but for an answer that was wrong. What is wrong with a request is so for all models. */
const unable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'engine-failed',
  'first-token-timeout',
  'internal',
  'model-unavailable',
  'queue-timeout',
  'shutting-down',
  'upstream-failed',
  'upstream-timeout',
])

type Attempts<T> = {
  readonly fallbacks: Fallbacks | undefined
  readonly emit: Emit<GenerationEvent>
  /** Rejects only before its first event after `start`. */
  run(context: RequestContext, emit: Emit<GenerationEvent>): Promise<T>
}

/**
 * Runs a request on its model or, when that cannot serve and nothing was sent, on the next of its fallbacks that can. When none can, the failure
 * of the first is the request's: a refusal of another model, such as for a shorter context, is no answer to what was asked.
 */
export async function runWithFallback<T>(context: RequestContext, { fallbacks, emit, run }: Attempts<T>): Promise<T> {
  const { model, principal, signal } = context
  const others = fallbacks?.of(model, principal) ?? []
  if (others.length === 0) return run(context, emit)
  let failure = failureNow(model)
  if (failure === undefined) {
    const attempt = openAttempt(context, model, emit)
    try {
      return await run(attempt.context, attempt.emit)
    } catch (error) {
      failure = AppError.from(error)
      if (signal.aborted || !unable.has(failure.code)) throw failure
    } finally {
      attempt.close()
    }
  }
  for (const other of others) {
    if (failureNow(other) !== undefined) continue
    const servesNow = () => fallbacks?.onFallback?.({ id: context.id, model: model.id, error: failure, servedBy: other.id })
    const attempt = openAttempt(context, other, marked(emit, { insteadOf: model.id, servesNow }))
    context.onModel?.(other.id)
    try {
      return await run(attempt.context, attempt.emit)
    } catch (error) {
      signal.throwIfAborted()
      // The limits of a key are the same on every model; what else another model refuses is not what was asked.
      if (AppError.from(error).code === 'rate-limit-exceeded') throw error
    } finally {
      attempt.close()
    }
  }
  context.onModel?.(model.id)
  // It ended a try; now it is the end of the request, as for one without fallbacks.
  if (failure.stopsRun) context.onLimit?.(failure)
  throw failure
}

/**
 * Why a model cannot serve now, where that is known without a try: it is going to be loaded again by itself, or all of its servers are down and looked
 * at. A request would wait for that.
 */
function failureNow({ id, engine }: ServedModel): AppError | undefined {
  const { state } = engine
  if (state.type === 'failed' && state.retryAtMs !== undefined && state.retryAtMs > Date.now()) {
    return new AppError('model-unavailable', state.reason, { retryAfterMs: Math.max(1000, state.retryAtMs - Date.now()) })
  }
  const replicas = engine.capabilities.fleet?.replicas() ?? []
  const isOut = (server: ServerReport) => server.state === 'unhealthy' || server.state === 'draining'
  if (replicas.length === 0 || !replicas.every(isOut)) return undefined
  const reasons = new Set(replicas.flatMap(({ lastFailure }) => lastFailure ?? []))
  const why = reasons.size === 0 ? '' : `: ${[...reasons].join('; ')}`
  return new AppError('model-unavailable', `no server of model '${id}' can be used now${why}`, { retryAfterMs: 1000 })
}

/** One run of a request on one model. A limit of time that it reaches before its first event ends this run only. */
function openAttempt(context: RequestContext, model: ServedModel, emit: Emit<GenerationEvent>) {
  const own = new AbortController()
  const follow = () => own.abort(context.signal.reason)
  context.signal.addEventListener('abort', follow, { once: true })
  if (context.signal.aborted) follow()
  let hasBegun = false
  const held = holdingStart(emit)
  return {
    context: {
      ...context,
      model,
      signal: own.signal,
      whole: context.signal,
      onLimit: (error: AppError) => (hasBegun ? context.onLimit?.(error) : own.abort(error)),
    } satisfies RequestContext,
    emit: ((event) => {
      hasBegun ||= event.type !== 'start'
      return held(event)
    }) satisfies Emit<GenerationEvent>,
    close: () => context.signal.removeEventListener('abort', follow),
  }
}

type Mark = { readonly insteadOf: string; servesNow(): void }

function marked(emit: Emit<GenerationEvent>, { insteadOf, servesNow }: Mark): Emit<GenerationEvent> {
  return (event) => {
    if (event.type !== 'start') return emit(event)
    servesNow()
    return emit({ insteadOf, ...event })
  }
}

import type { Emit } from '../../base/emit.ts'
import type { RequestContext } from '../../contract/context.ts'
import type { ServerReport } from '../../contract/engine.ts'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { ChosenVersion } from './choose-version.ts'
import { holdingStart } from './hold-start.ts'
import type { OtherModels } from './other-models.ts'

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
  /** What serves it if it can: the model that was asked for, or a version of it. */
  readonly chosen: ChosenVersion
  readonly others: OtherModels | undefined
  readonly emit: Emit<GenerationEvent>
  /** Rejects only before its first event after `start`. */
  run(context: RequestContext, emit: Emit<GenerationEvent>): Promise<T>
}

/**
 * Runs a request on the model that is chosen for it or, when that cannot serve and nothing was sent, on the next of its fallbacks that can. When none
 * can, the failure of the first is the request's: a refusal of another model, such as for a shorter context, does not answer what was asked.
 */
export async function runWithFallback<T>(context: RequestContext, { chosen, others, emit, run }: Attempts<T>): Promise<T> {
  const { signal, model: asked } = context
  const { model } = chosen
  const spare = others === undefined || chosen.isPinned ? none : fallbacksOf(context, model, others)
  let current = asked.id
  const moveTo = (id: string) => {
    if (id !== current) context.onModel?.(id)
    current = id
  }
  const serve = async (server: ServedModel, given: Emit<GenerationEvent>) => {
    moveTo(server.id)
    const attempt = openAttempt(context, server, server.id === asked.id ? given : marked(given, { insteadOf: asked.id }))
    try {
      return await run(attempt.context, attempt.emit)
    } finally {
      attempt.close()
    }
  }
  if (spare.length === 0 && model === asked) return run(context, emit)
  // Without another model, one that is down is tried all the same.
  let failure = spare.length === 0 ? undefined : failureNow(model)
  if (failure === undefined) {
    try {
      return await serve(model, emit)
    } catch (error) {
      failure = AppError.from(error)
      if (signal.aborted || !unable.has(failure.code)) throw failure
    }
  }
  for (const other of spare) {
    if (failureNow(other) !== undefined) continue
    const fallback = { id: context.id, model: model.id, error: failure, servedBy: other.id }
    try {
      return await serve(
        other,
        atStart(emit, () => others?.onFallback?.(fallback)),
      )
    } catch (error) {
      signal.throwIfAborted()
      // The limits of a key are the same on every model; what else another model refuses is not what was asked.
      if (['rate-limit-exceeded', 'budget-exceeded'].includes(AppError.from(error).code)) throw error
    }
  }
  moveTo(model.id)
  // It ended a try; now it is the end of the request, as for one without fallbacks.
  if (failure.stopsRun) context.onLimit?.(failure)
  throw failure
}

const none: readonly ServedModel[] = []

/** Of a version, the model itself comes first. */
function fallbacksOf(
  { model: asked, principal }: RequestContext,
  chosen: ServedModel,
  others: OtherModels,
): readonly ServedModel[] {
  if (asked.fallback === undefined) return chosen.id === asked.id ? none : [asked]
  const named = asked.fallback.flatMap((name) => others.find(name, principal) ?? [])
  return [...new Set([asked, ...named])].filter(({ id }) => id !== chosen.id)
}

/**
 * Why a model cannot serve now, where that is known without a try: it is going to be loaded again by itself, or all of its servers are down and looked
 * at. A request would wait for that.
 */
function failureNow({ id, engine }: ServedModel): AppError | undefined {
  const { state } = engine
  if (state.type === 'failed' && state.retryAtMs !== undefined && state.retryAtMs > performance.now()) {
    return new AppError('model-unavailable', state.reason, { retryAfterMs: Math.max(1000, state.retryAtMs - performance.now()) })
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

function marked(emit: Emit<GenerationEvent>, { insteadOf }: { readonly insteadOf: string }): Emit<GenerationEvent> {
  return (event) => emit(event.type === 'start' ? { insteadOf, ...event } : event)
}

function atStart(emit: Emit<GenerationEvent>, onStart: () => void): Emit<GenerationEvent> {
  return (event) => {
    if (event.type === 'start') onStart()
    return emit(event)
  }
}

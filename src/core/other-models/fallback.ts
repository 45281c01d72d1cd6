import type { Emit } from '../../base/emit.ts'
import type { RequestContext } from '../../contract/context.ts'
import type { ServerReport } from '../../contract/engine.ts'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { ChosenVersion } from './choose-version.ts'
import { holdingStart } from './hold-start.ts'
import type { OtherModels } from './other-models.ts'

/** Failures that show that a model cannot serve: those of 5xx, except a wrong answer. A faulty request would fail on all models. */
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
  /** The model that was asked for, or the version that was chosen. */
  readonly chosen: ChosenVersion
  readonly others: OtherModels | undefined
  readonly emit: Emit<GenerationEvent>
  /** Rejects only before its first event after `start`. */
  run(context: RequestContext, emit: Emit<GenerationEvent>): Promise<T>
}

/**
 * Runs a request on its chosen model or, if that cannot serve and nothing was sent, on the first of its fallbacks that can. If none can,
 * the request fails as on the first: the refusal of another model, for example for its shorter context, would mislead.
 */
export function runWithFallback<T>(context: RequestContext, attempts: Attempts<T>): Promise<T> {
  const { chosen, others } = attempts
  const spare = others === undefined || chosen.isPinned ? none : fallbacksOf(context, chosen.model, others)
  if (spare.length === 0 && chosen.model === context.model) return attempts.run(context, attempts.emit)
  return runOnOne(context, attempts, spare)
}

async function runOnOne<T>(
  context: RequestContext,
  { chosen: { model }, others, emit, run }: Attempts<T>,
  spare: readonly ServedModel[],
): Promise<T> {
  const { signal, model: asked } = context
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
  // Without a fallback, even a model that is down is tried.
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
      // Limits of a key are the same on every model; other refusals of a fallback are not the request's.
      if (['rate-limit-exceeded', 'budget-exceeded'].includes(AppError.from(error).code)) throw error
    }
  }
  moveTo(model.id)
  // The limit ended an attempt; now it ends the request, as without fallbacks.
  if (failure.stopsRun) context.onLimit?.(failure)
  throw failure
}

const none: readonly ServedModel[] = []

/** The fallbacks of a version begin with the model itself. */
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
 * Why a model cannot serve now, if that is known without an attempt: it is waiting for a restart, or all of its servers are down and being
 * probed. A request would wait for that.
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

/** One run of a request on one model. A time limit reached before its first event ends only this run. */
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

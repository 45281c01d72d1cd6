import { AppError } from '../../core/errors.ts'
import type { EngineEvent, Usage } from '../../core/event.ts'
import type { GenerationRequest } from '../../core/request.ts'
import type { UpstreamClient } from './client.ts'
import type { LeaseOutcome } from './pool.ts'
import { type Place, pause, type Replicas } from './replicas.ts'
import { ReplyReader } from './reply-reader.ts'
import { continued, requestBody } from './request-body.ts'
import { isTransient, planRetry, type UpstreamFailure } from './retry.ts'
import { failureOf, withFailure } from './upstream-failure.ts'

export type RunDeps = {
  readonly client: UpstreamClient
  readonly replicas: Replicas
  /** Counts what a server did not count. */
  countUsage(place: Place, request: GenerationRequest, reader: ReplyReader): Promise<Usage>
  now(): number
  random(): number
}

/** One exchange, or as many as it takes: `request` asks for `choices` choices, the first of which is number `firstChoice`. */
export type RunPlan = {
  readonly request: GenerationRequest
  readonly choices: number
  readonly firstChoice: number
  readonly affinityKeys: readonly string[]
  /** What the request is likely to cost. */
  readonly tokens: number
}

/** How long a request waits for a server to come back before it fails, and how long it is tried again. */
const longestWaitMs = 15_000
const longestRetryMs = 60_000

/**
 * Sends the request to a server, and to another when that one fails before anything came; what breaks off later is continued
 * by another where that can be done. Ends with `usage`, or throws.
 */
export async function* runRequest(deps: RunDeps, plan: RunPlan, signal: AbortSignal): AsyncGenerator<EngineEvent, void, void> {
  const { replicas, now } = deps
  const failed = new Set<string>()
  const deadlineMs = now() + longestRetryMs
  let reader: ReplyReader | undefined
  for (let attempt = 1; ; attempt++) {
    const exclude = failed.size < replicas.count ? failed : new Set<string>()
    const place = await replicas.acquire({ ...plan, exclude }, longestWaitMs, signal)
    let outcome: LeaseOutcome = { type: 'neutral' }
    try {
      reader ??= new ReplyReader({ ...plan, profile: place.target.profile })
      yield* exchange(deps, plan, { place, reader, signal })
      outcome = { type: 'ok' }
      return
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      const failure = failureOf(thrown)
      if (failure === undefined || reader === undefined) throw thrown
      outcome = toOutcome(failure, thrown)
      failed.add(place.endpoint.id)
      const decision = planRetry({
        failure,
        attempt,
        isEventSent: reader.hasBegun,
        canContinue: canContinue(plan.request, reader, place),
        hasAlternative: replicas.hasAlternative(failed),
        deadlineMs,
        nowMs: now(),
        random: deps.random,
      })
      if (decision.type === 'give-up') throw thrown
      if (decision.type === 'continue') reader.resume()
      place.lease.release(outcome, now())
      await pause(decision.delayMs, signal)
    } finally {
      place.lease.release(outcome, now())
    }
  }
}

type Exchange = { readonly place: Place; readonly reader: ReplyReader; readonly signal: AbortSignal }

async function* exchange(deps: RunDeps, plan: RunPlan, { place, reader, signal }: Exchange): AsyncGenerator<EngineEvent> {
  const { endpoint, target, lease } = place
  const request = { ...plan.request, choices: plan.choices }
  const { path, body } = requestBody(remaining(request, reader, place), target)
  for await (const value of deps.client.stream(endpoint, { method: 'POST', path, body }, signal)) {
    const events = reader.read(value)
    // Not `yield*`: on a generator it costs as much for each event as everything else here.
    for (const event of events) {
      // What came with the last bytes is not wanted any more either.
      signal.throwIfAborted()
      yield event
    }
    if (events.length > 0) lease.confirm()
    if (reader.isCut) break
  }
  signal.throwIfAborted()
  if (!reader.isFinished) {
    const message = 'the server behind this model ended its answer without saying how it finished'
    throw withFailure(new AppError('engine-failed', message), { type: 'cut' })
  }
  for (const event of await reader.end(() => deps.countUsage(place, request, reader))) yield event
}

/** The request, or what is left of it when a part of the answer is there. */
function remaining(request: GenerationRequest, reader: ReplyReader, { target }: Place): GenerationRequest {
  const text = reader.continuable
  if (!reader.hasBegun || text === undefined) return request
  const rest = continued(request, { text, outputTokens: reader.outputTokens }, target)
  if (rest !== undefined) return rest
  throw new AppError('engine-failed', 'the server behind this model broke off, and no other can go on with its answer')
}

function canContinue(request: GenerationRequest, reader: ReplyReader, { target }: Place): boolean {
  const text = reader.continuable
  return text !== undefined && continued(request, { text, outputTokens: reader.outputTokens }, target) !== undefined
}

function toOutcome(failure: UpstreamFailure, thrown: unknown): LeaseOutcome {
  // What the request itself is at fault for says nothing about the server.
  if (!isTransient(failure)) return { type: 'neutral' }
  const reason = AppError.from(thrown).message
  if (failure.type !== 'status') return { type: 'failed', reason, isRefused: failure.type === 'connection' && failure.isRefused }
  const { status, retryAfterMs } = failure
  if (status === 429 || (status === 503 && retryAfterMs !== undefined))
    return { type: 'busy', retryAfterMs: retryAfterMs ?? 1000 }
  return { type: 'failed', reason }
}

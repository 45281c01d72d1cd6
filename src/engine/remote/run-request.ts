import { type Emit, inTurn, WatchedEmit } from '../../contract/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, Usage } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { GrammarMaker } from '../../threads/grammar-maker.ts'
import type { CheckedRequest } from './check-request.ts'
import type { Place, Replicas } from './fleet/replicas.ts'
import { type Progress, tryServers } from './fleet/try-servers.ts'
import { type CountedRequest, checkUpstream } from './servers/check-upstream.ts'
import type { Profile } from './servers/profiles.ts'
import type { UpstreamClient } from './transport/client.ts'
import { readStream } from './transport/read-reply.ts'
import { toAppError, UpstreamError } from './transport/upstream-error.ts'
import type { UpstreamBody } from './wire/chat-body.ts'
import { ReplyReader } from './wire/reply-reader.ts'
import { continued, requestBody } from './wire/request-body.ts'

export type RunDeps = {
  readonly client: UpstreamClient
  readonly replicas: Replicas
  readonly grammars: Pick<GrammarMaker, 'make'>
  /** Counts what a server did not count. */
  countUsage(place: Place, request: GenerationRequest, reader: ReplyReader): Promise<Usage>
  now(): number
  random(): number
  /** Tokens that a server sent after their request had been cancelled. */
  onLateTokens(count: number): void
}

/** One exchange, or as many as it takes: `request` asks for `choices` choices, the first of which is number `firstChoice`. */
export type RunPlan = CountedRequest & {
  readonly choices: number
  readonly firstChoice: number
  readonly affinityKeys: readonly string[]
  /** What the request is likely to cost. */
  readonly tokens: number
  /** What was found out when the request was checked. */
  readonly checked?: CheckedRequest
}

export type RunContext = { readonly signal: AbortSignal; readonly emit: Emit<EngineEvent> }

/** `one-at-a-time`: nothing was asked, for the server whose turn it was makes no more than one choice. */
export type RunEnd = 'done' | 'one-at-a-time'

/**
 * Sends the request to a server, and to another when that one fails before anything came; what breaks off later is continued
 * by another where that can be done. The last event is `usage`; rejects for everything else.
 */
export async function runRequest(deps: RunDeps, plan: RunPlan, { signal, emit }: RunContext): Promise<RunEnd> {
  let reader: ReplyReader | undefined
  const watched = new WatchedEmit(emit)
  // What came with the last bytes is not wanted any more either.
  const emitWanted: Emit<EngineEvent> = (event) => {
    signal.throwIfAborted()
    return watched.emit(event)
  }
  const run = async (place: Place): Promise<RunEnd> => {
    const { profile } = place.upstream
    if (plan.choices > 1 && !makesChoices(profile, plan.request)) {
      // It was asked nothing, and has not shown that it is well.
      place.lease.release({ type: 'neutral' }, deps.now())
      return 'one-at-a-time'
    }
    // Nothing was seen of an answer that has not begun: the next one need not be of the same kind.
    if (reader?.hasBegun === true) reader.resume(profile)
    else reader = new ReplyReader({ profile, request: plan.request, choices: plan.choices, firstChoice: plan.firstChoice })
    const current = reader
    const { path, body } = await bodyFor(deps, plan, { reader: current, place })
    const reply = await deps.client.stream(place.endpoint, { method: 'POST', path, body }, signal)
    const take = (value: unknown) => {
      const events = current.read(value)
      // Also when it merely tells how far it has read.
      place.lease.confirm()
      return inTurn(events, emitWanted)
    }
    try {
      await readStream(reply, take, () => current.isCut)
    } catch (error) {
      // The answer is whole when it has said how it ended; what failed behind that are at most its counts.
      if (signal.aborted || !(error instanceof UpstreamError) || !current.isFinished) throw error
    } finally {
      if (reply.lateEvents > 0) deps.onLateTokens(reply.lateEvents)
    }
    signal.throwIfAborted()
    if (!current.isFinished) throw endless()
    await inTurn(await current.end(() => deps.countUsage(place, plan.request, current)), emitWanted)
    return 'done'
  }
  const progress = (place: Place): Progress | undefined => {
    if (reader === undefined || watched.hasFailed) return undefined
    return { hasMoved: reader.pieces > 0, isEventSent: reader.hasBegun, canContinue: canContinue(plan.request, reader, place) }
  }
  try {
    const { tokens, affinityKeys } = plan
    return await tryServers(deps, { tokens, affinityKeys, isQuestion: false, signal, run, progress })
  } catch (thrown) {
    if (signal.aborted || watched.hasFailed || reader?.isResumed !== true) throw thrown
    deps.replicas.throwIfClosed()
    throw stuck(thrown)
  }
}

function endless(): UpstreamError {
  const message = 'the server behind this model ended its answer without saying how it finished'
  return new UpstreamError({ type: 'truncated' }, message)
}

/** The request in the server's words: as it was checked, or what is left of it when a part of the answer is there. */
function bodyFor(
  { grammars }: RunDeps,
  plan: RunPlan,
  { reader, place }: { readonly reader: ReplyReader; readonly place: Place },
): UpstreamBody | Promise<UpstreamBody> {
  const { checked, inputTokens } = plan
  const request = remaining({ ...plan.request, choices: plan.choices }, reader, place)
  // What was said so far is a part of the prompt by now.
  const said = reader.hasBegun ? reader.outputTokens : 0
  checkUpstream({ ...plan, request, inputTokens: inputTokens === undefined ? undefined : inputTokens + said }, place.upstream)
  const refusal = checked?.refusals.get(place.upstream)
  if (refusal !== undefined) throw refusal
  if (checked !== undefined && checked.upstream === place.upstream && !reader.hasBegun) return checked.body
  return requestBody(request, place.upstream, grammars)
}

/** The request, or what is left of it when a part of the answer is there. */
function remaining(request: GenerationRequest, reader: ReplyReader, { upstream }: Place): GenerationRequest {
  const text = reader.continuable
  if (!reader.hasBegun || text === undefined) return request
  const rest = continued(request, { text, outputTokens: reader.outputTokens }, upstream)
  if (rest !== undefined) return rest
  throw new AppError('unsupported-field', `a server of this kind (${upstream.profile.name}) cannot go on with an answer`)
}

function canContinue(request: GenerationRequest, reader: ReplyReader, { upstream }: Place): boolean {
  const text = reader.continuable
  return text !== undefined && continued(request, { text, outputTokens: reader.outputTokens }, upstream) !== undefined
}

/** Why the rest of an answer is missing: never the caller's request, which was good enough to begin with. */
function stuck(thrown: unknown): AppError {
  const { message } = toAppError(thrown)
  return new AppError('engine-failed', `the server behind this model broke off, and no other could go on: ${message}`)
}

function makesChoices({ choices, refusesEqualChoices }: Profile, { sampling }: GenerationRequest): boolean {
  return choices && !(refusesEqualChoices === true && sampling.temperature === 0)
}

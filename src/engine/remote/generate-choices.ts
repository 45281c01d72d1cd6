import { setMaxListeners } from 'node:events'
import type { Emit } from '../../base/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, Timings, Usage } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { CheckedRequest } from './check-request.ts'
import { affinityKeys } from './fleet/affinity/prefix-affinity.ts'
import { type GenerationDeps, generateReply, type ReplyPlan, type ReplySink } from './generate-reply.ts'
import type { CountedRequest } from './servers/check-upstream.ts'

export type PreparedRequest = CountedRequest & Pick<ReplyPlan, 'chatTemplate'> & { readonly checked: CheckedRequest }

/** Generates all choices in one reply, or in separate replies if the replica makes one choice per request. */
export function generateChoices(deps: GenerationDeps, prepared: PreparedRequest, sink: ReplySink): Promise<unknown> {
  const { request } = prepared
  const plan: ReplyPlan = {
    firstChoice: 0,
    // A single replica leaves no choice.
    affinityKeys: deps.hasAffinity && deps.replicas.count > 1 ? affinityKeys(request.prompt, callerKeysOf(request)) : [],
    ...deps.expected.of(request, prepared.inputTokens),
    ...prepared,
  }
  return request.choices === 1 ? generateReply(deps, plan, sink) : generateSeveral(deps, plan, sink)
}

/** The caller's hints about which requests share a prefix. They are scoped to the caller: equal values of others are unrelated. */
function callerKeysOf({ forwarded, origin }: GenerationRequest): readonly string[] {
  const named = [forwarded?.promptCacheKey, origin?.session].filter((key) => key !== undefined && key !== '')
  return named.map((key) => `${origin?.caller ?? ''}\n${key}`)
}

async function generateSeveral(deps: GenerationDeps, plan: ReplyPlan, sink: ReplySink): Promise<void> {
  const { request } = plan
  const usages: Usage[] = []
  let servedBy: string | undefined
  let timings: Timings = {}
  const emit: Emit<EngineEvent> = (event) => {
    if (event.type !== 'usage') return sink.emit(event)
    servedBy = event.servedBy
    timings = event.timings
    usages.push(event.usage)
    return undefined
  }
  const end = await generateReply(deps, plan, { ...sink, emit })
  const all = Array.from({ length: request.choices }, (_, choice) => choice)
  const missing = end === 'done' ? [] : end === 'one-choice-only' ? all : end.missing
  if (missing.length > 0) {
    usages.push(...(await generateOneByOne(deps, plan, { choices: missing, sink })))
    timings = {}
  }
  await sink.emit({ type: 'usage', usage: addUsages(usages), timings, ...(servedBy !== undefined && { servedBy }) })
}

type ChoicesToMake = { readonly choices: readonly number[]; readonly sink: ReplySink }

/** Parallel sampling: one reply for each choice. The first failure ends all of them. Resolves with their usages. */
async function generateOneByOne(
  deps: GenerationDeps,
  plan: ReplyPlan,
  { choices, sink: { signal: caller, emit, onTokensAfterCancel } }: ChoicesToMake,
): Promise<readonly Usage[]> {
  const { checked: _, ...each } = plan
  const usages: Usage[] = []
  const emitInTurn = oneAtATime(emit)
  const emitButUsage: Emit<EngineEvent> = (event) => {
    if (event.type === 'usage') usages.push(event.usage)
    else if (event.type !== 'prompt-read' && event.type !== 'prompt-progress') return emitInTurn(event)
    return undefined
  }
  const failed = new AbortController()
  const signal = AbortSignal.any([caller, failed.signal])
  // Every choice has its own exchange.
  setMaxListeners(0, signal)
  let failure: { readonly error: unknown } | undefined
  const replies = choices.map(async (choice) => {
    try {
      const one = { ...each, request: singleChoice(plan.request, choice), firstChoice: choice }
      await generateReply(deps, one, { signal, emit: emitButUsage, onTokensAfterCancel })
    } catch (error) {
      failure ??= { error }
      failed.abort(new AppError('cancelled', 'no longer wanted'))
    }
  })
  await Promise.all(replies)
  if (failure !== undefined) throw failure.error
  return usages
}

/** Serialises parallel replies: while the reader handles an event of one, the events of the others wait. */
function oneAtATime<Event>(emit: Emit<Event>): Emit<Event> {
  let last: Promise<void> | undefined
  return (event) => {
    const pending = last === undefined ? emit(event) : last.then(() => emit(event))
    if (pending === undefined) return undefined
    // After a failure `last` stays rejected, so that nothing more is emitted.
    const turn = pending.then(() => {
      if (last === turn) last = undefined
    })
    last = turn
    return turn
  }
}

/** Each choice has its own seed: the same seed would give the same choice each time. */
function singleChoice(request: GenerationRequest, choice: number): GenerationRequest {
  const { seed } = request.sampling
  return { ...request, choices: 1, ...(seed !== undefined && { sampling: { ...request.sampling, seed: seed + choice } }) }
}

/** The prompt counts once, however often it was read. */
function addUsages(usages: readonly Usage[]): Usage {
  const sum = (field: 'outputTokens' | 'reasoningTokens') => usages.reduce((total, usage) => total + usage[field], 0)
  return {
    inputTokens: Math.max(0, ...usages.map(({ inputTokens }) => inputTokens)),
    cachedInputTokens: Math.min(...usages.map(({ cachedInputTokens }) => cachedInputTokens)),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
  }
}

import type { Emit } from '../../contract/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, Usage } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { linkedSignal } from '../linked-signal.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { affinityKeys } from './fleet/prefix-affinity.ts'
import { type RunContext, type RunDeps, type RunPlan, runRequest } from './run-request.ts'
import type { CountedRequest } from './servers/check-upstream.ts'

type Run = RunContext &
  CountedRequest & {
    /** The request in the words of the server that it was checked against. */
    readonly checked: NonNullable<RunPlan['checked']>
  }

/** One exchange for all choices of a request, or, where a server makes one at a time, one for each. */
export async function runChoices(deps: RunDeps, run: Run): Promise<void> {
  const { request, model, inputTokens, checked } = run
  const { choices } = request
  const plan: RunPlan = {
    request,
    model,
    inputTokens,
    choices,
    firstChoice: 0,
    // With one server there is nothing to choose.
    affinityKeys: deps.replicas.count === 1 ? [] : affinityKeys(request.prompt),
    tokens: estimateTokens(request),
    checked,
  }
  if (choices === 1) await runRequest(deps, plan, run)
  else await runSeveral(deps, plan, run)
}

async function runSeveral(deps: RunDeps, plan: RunPlan, { signal: caller, emit }: Run): Promise<void> {
  if ((await runRequest(deps, plan, { signal: caller, emit })) === 'done') return
  const { checked: _, ...each } = plan
  const usages: Usage[] = []
  const emitInTurn = oneAtATime(emit)
  const emitButUsage: Emit<EngineEvent> = (event) => {
    if (event.type === 'usage') usages.push(event.usage)
    else if (event.type !== 'prompt-read') return emitInTurn(event)
    return undefined
  }
  const { signal, abort, unlink } = linkedSignal(caller)
  let failure: { readonly error: unknown } | undefined
  const runs = Array.from({ length: plan.choices }, async (__, choice) => {
    const one = { ...each, request: variant(plan.request, choice), choices: 1, firstChoice: choice }
    try {
      await runRequest(deps, one, { signal, emit: emitButUsage })
    } catch (error) {
      failure ??= { error }
      abort(new AppError('cancelled', 'no longer wanted'))
    }
  })
  await Promise.all(runs)
  unlink()
  if (failure !== undefined) throw failure.error
  await emit({ type: 'usage', usage: addUsages(usages), timings: {} })
}

/** For several that emit side by side: while the reader is behind with the event of one, those of the others wait in line. */
function oneAtATime<Event>(emit: Emit<Event>): Emit<Event> {
  let last: Promise<void> | undefined
  return (event) => {
    const pending = last === undefined ? emit(event) : last.then(() => emit(event))
    if (pending === undefined) return undefined
    // One that fails stays: nothing may come behind it.
    const turn = pending.then(() => {
      if (last === turn) last = undefined
    })
    last = turn
    return turn
  }
}

/** The same seed would give the same answer each time. */
function variant(request: GenerationRequest, choice: number): GenerationRequest {
  const { seed } = request.sampling
  return seed === undefined ? request : { ...request, sampling: { ...request.sampling, seed: seed + choice } }
}

/** The prompt counts once, whoever read it how often. */
function addUsages(usages: readonly Usage[]): Usage {
  const sum = (field: keyof Usage) => usages.reduce((total, usage) => total + usage[field], 0)
  return {
    inputTokens: Math.max(0, ...usages.map(({ inputTokens }) => inputTokens)),
    cachedInputTokens: Math.min(...usages.map(({ cachedInputTokens }) => cachedInputTokens)),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
  }
}

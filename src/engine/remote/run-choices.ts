import { AppError } from '../../core/errors.ts'
import type { EngineEvent, Usage } from '../../core/event.ts'
import type { GenerationRequest } from '../../core/request.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { merge } from './merge.ts'
import { affinityKeys } from './prefix-affinity.ts'
import { type RunDeps, type RunPlan, runRequest } from './run-request.ts'

type Run = {
  readonly request: GenerationRequest
  /** The request in the words of the server that it was checked against. */
  readonly checked: NonNullable<RunPlan['checked']>
  readonly signal: AbortSignal
  /** Ends what runs. */
  stop(reason: AppError): void
  /** All is over. */
  leave(): void
}

/** One exchange for all choices of a request, or, where a server makes one at a time, one for each. It is to be iterated. */
export function runChoices(deps: RunDeps, run: Run): AsyncGenerator<EngineEvent, unknown, void> {
  const { request, checked, signal, leave } = run
  const { choices } = request
  const plan: RunPlan = {
    request,
    choices,
    firstChoice: 0,
    // With one server there is nothing to choose.
    affinityKeys: deps.replicas.count === 1 ? [] : affinityKeys(request.prompt),
    tokens: estimateTokens(request),
    checked,
  }
  return choices === 1 ? runRequest(deps, plan, { signal, leave }) : runSeveral(deps, plan, run)
}

async function* runSeveral(deps: RunDeps, plan: RunPlan, { signal, stop, leave }: Run): AsyncGenerator<EngineEvent> {
  try {
    if ((yield* runRequest(deps, plan, { signal })) === 'done') return
    const { checked: _, ...each } = plan
    const streams = Array.from({ length: plan.choices }, (__, choice) =>
      runRequest(deps, { ...each, request: variant(plan.request, choice), choices: 1, firstChoice: choice }, { signal }),
    )
    const usages: Usage[] = []
    for await (const event of merge(streams, () => stop(new AppError('cancelled', 'no longer wanted')))) {
      if (event.type === 'usage') usages.push(event.usage)
      else if (event.type !== 'prompt-read') yield event
    }
    yield { type: 'usage', usage: addUsages(usages), timings: {} }
  } finally {
    leave()
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

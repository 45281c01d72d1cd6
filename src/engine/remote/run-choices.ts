import { AppError } from '../../core/errors.ts'
import type { EngineEvent, Usage } from '../../core/event.ts'
import type { GenerationRequest } from '../../core/request.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { merge } from './merge.ts'
import { affinityKeys } from './prefix-affinity.ts'
import { type RunDeps, type RunPlan, runRequest } from './run-request.ts'

/** One exchange for all choices of a request, or, where a server makes one at a time, one for each. `stop` ends them all. */
export async function* runChoices(
  deps: RunDeps,
  request: GenerationRequest,
  { signal, stop }: { readonly signal: AbortSignal; stop(reason: AppError): void },
): AsyncGenerator<EngineEvent> {
  const { choices } = request
  const plan: RunPlan = {
    request,
    choices,
    firstChoice: 0,
    affinityKeys: affinityKeys(request.prompt),
    tokens: estimateTokens(request),
  }
  if ((yield* runRequest(deps, plan, signal)) === 'done') return
  const streams = Array.from({ length: choices }, (_, choice) =>
    runRequest(deps, { ...plan, request: variant(request, choice), choices: 1, firstChoice: choice }, signal),
  )
  const usages: Usage[] = []
  for await (const event of merge(streams, () => stop(new AppError('cancelled', 'no longer wanted')))) {
    if (event.type === 'usage') usages.push(event.usage)
    else if (event.type !== 'prompt-read') yield event
  }
  yield { type: 'usage', usage: addUsages(usages), timings: {} }
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

import type { Emit } from '../contract/emit.ts'
import type { GenerationEvent, Timings, Usage } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import { type GenerateDeps, type Generation, generate } from './generate.ts'
import { seal } from './seal.ts'

type Totals = { readonly usage: Usage; readonly timings: Timings }

const noTotals: Totals = {
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  timings: {},
}

/**
 * Several requests to one model as one generation: their choices are counted on, their usage is summed. They run one after
 * the other, so that a call with many prompts takes one place in the queue like any other.
 */
export function generateAll(
  deps: GenerateDeps,
  requests: readonly [GenerationRequest, ...GenerationRequest[]],
  signal: AbortSignal,
): Generation {
  const [first, ...rest] = requests
  const generation = generate(deps, first, signal)
  if (rest.length === 0) return generation

  async function runInTurn(emit: Emit<GenerationEvent>): Promise<void> {
    let totals = noTotals
    let choices = 0
    for (const [index, request] of requests.entries()) {
      const { run } = index === 0 ? generation : generate(deps, request, signal)
      await run((event) => {
        if (event.type === 'error') throw event.error
        if (event.type === 'usage') totals = addTotals(totals, event)
        else if (event.type !== 'prompt-read') return emit({ ...event, choice: event.choice + choices })
        else if (index === 0) return emit(event)
        return undefined
      })
      choices += request.choices
    }
    await emit({ type: 'usage', ...totals })
  }

  return {
    model: generation.model,
    run: (emit) => seal(runInTurn, emit),
    structured: () => generation.structured(),
  }
}

function addTotals(before: Totals, { usage, timings }: Totals): Totals {
  return {
    usage: {
      inputTokens: before.usage.inputTokens + usage.inputTokens,
      cachedInputTokens: before.usage.cachedInputTokens + usage.cachedInputTokens,
      outputTokens: before.usage.outputTokens + usage.outputTokens,
      reasoningTokens: before.usage.reasoningTokens + usage.reasoningTokens,
    },
    timings: addTimings(before.timings, timings),
  }
}

function addTimings(before: Timings, more: Timings): Timings {
  const keys = new Set([...Object.keys(before), ...Object.keys(more)]) as Set<keyof Timings>
  const sums = [...keys].map((key) => [key, (before[key] ?? 0) + (more[key] ?? 0)] as const)
  // The first text of the first request is the first of all; the others waited for it.
  const firstTokenMs = before.firstTokenMs ?? more.firstTokenMs
  return { ...Object.fromEntries(sums), ...(firstTokenMs !== undefined && { firstTokenMs }) }
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Emit } from '../contract/emit.ts'
import type { GenerationEvent, Timings, Usage } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'

type Totals = { readonly usage: Usage; readonly timings: Timings }

const noTotals: Totals = {
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  timings: {},
}

/** Runs requests one after the other as one stream: one start, consecutive choice numbers, and the summed usage at the end. */
export async function generateInTurn(
  requests: readonly GenerationRequest[],
  runOne: (request: GenerationRequest, emit: Emit<GenerationEvent>) => Promise<void>,
  emit: Emit<GenerationEvent>,
): Promise<void> {
  let totals = noTotals
  let choices = 0
  for (const [index, request] of requests.entries()) {
    // Thousands of short prompts must not hold up other work.
    if (index > 0) await nextTurn()
    await runOne(request, (event) => {
      switch (event.type) {
        case 'error':
          throw event.error
        case 'usage':
          totals = addTotals(totals, event)
          return undefined
        case 'start': {
          // The count of the first prompt would look like that of all.
          const { inputTokens: _, ...start } = event
          return index === 0 ? emit(start) : undefined
        }
        case 'prompt-read':
          return index === 0 ? emit(event) : undefined
        default:
          return emit({ ...event, choice: event.choice + choices })
      }
    })
    choices += request.choices
  }
  await emit({ type: 'usage', ...totals })
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
  // The first text of the stream is that of the first request.
  const firstTokenMs = before.firstTokenMs ?? more.firstTokenMs
  return { ...Object.fromEntries(sums), ...(firstTokenMs !== undefined && { firstTokenMs }) }
}

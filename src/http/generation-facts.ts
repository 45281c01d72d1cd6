import type { FinishReason, GenerationEvent, Timings, Usage } from '../contract/event.ts'
import { formatPath } from '../contract/field.ts'
import { encodeOddCalls, type OddCall } from './reply-headers.ts'

/** What the log says about a generation when its request has ended. */
export type GenerationFacts = {
  readonly generationId: string
  /** The name in the request. */
  requestedModel?: string
  model?: string
  /** Of each choice that ended. */
  finishReasons?: FinishReason[]
  usage?: Usage
  timings?: Timings
  /** Calls whose arguments were repaired or could not be parsed. */
  oddCalls?: OddCall[]
  /** Where the conversation differs from its turn before, as a canonical path. */
  divergedAt?: string
  /** The replica of a remote model. */
  servedBy?: string
}

/** Adds what an event says. */
export function noteEvent(facts: GenerationFacts, event: GenerationEvent): void {
  if (event.type === 'start') {
    if (event.divergedAt !== undefined) facts.divergedAt = formatPath(event.divergedAt)
  } else if (event.type === 'finish') {
    facts.finishReasons ??= []
    facts.finishReasons.push(event.reason)
  } else if (event.type === 'tool-call-end' && event.state !== undefined) {
    facts.oddCalls ??= []
    facts.oddCalls.push({ id: event.id, state: event.state })
  } else if (event.type === 'usage') {
    facts.usage = event.usage
    facts.timings = event.timings
    if (event.servedBy !== undefined) facts.servedBy = event.servedBy
  }
}

/** The facts as fields of a log entry. */
export function factFields({ finishReasons, usage, timings, requestedModel, model, oddCalls, ...rest }: GenerationFacts): object {
  return {
    ...rest,
    ...(requestedModel !== undefined && requestedModel !== model && { requestedModel: requestedModel.slice(0, 200) }),
    ...(model !== undefined && { model }),
    ...(finishReasons !== undefined && { finishReason: [...new Set(finishReasons)].join(',') }),
    ...(oddCalls !== undefined && { calls: encodeOddCalls(oddCalls) }),
    ...(usage !== undefined && {
      inputTokens: usage.inputTokens,
      cachedInputTokens: usage.cachedInputTokens,
      outputTokens: usage.outputTokens,
    }),
    ...(timings?.firstTokenMs !== undefined && { ttftMs: timings.firstTokenMs }),
    ...(timings?.queueMs !== undefined && { queueMs: timings.queueMs }),
  }
}

import type { FastifyReply } from 'fastify'
import { placeOfChange } from '../../canonical/place-of-change.ts'
import type { FinishReason, GenerationEvent, Timings, Usage } from '../../contract/event.ts'
import { encodeServerTiming, encodeUnparsedCalls, type UnparsedCall } from './reply-headers.ts'

/** Facts about a generation for the log, when its request has ended. */
export type GenerationFacts = {
  readonly generationId: string
  /** The name in the request. */
  requestedModel?: string
  /** The caller asked for a stream. */
  isStreamed?: boolean
  model?: string
  /** The requested model, if another one serves. */
  insteadOf?: string
  /** One for each choice that ended. */
  finishReasons?: FinishReason[]
  usage?: Usage
  timings?: Timings
  /** Calls whose arguments were repaired or could not be parsed. */
  unparsedCalls?: UnparsedCall[]
  /** Where the conversation differs from its previous turn, as a canonical path. */
  divergedAt?: string
  /** What differs there, and how. */
  divergedBy?: string
  /** The replica of a remote model. */
  servedBy?: string
  /** The store failed: the reply cannot be read or continued later. */
  isUnstored?: true
}

export function noteEvent(facts: GenerationFacts, event: GenerationEvent): void {
  if (event.type === 'start') {
    facts.model = event.model
    if (event.insteadOf !== undefined) facts.insteadOf = event.insteadOf
    if (event.diverged !== undefined) {
      facts.divergedAt = placeOfChange(event.diverged)
      facts.divergedBy = [event.diverged.part, event.diverged.kind ?? 'unknown'].join(' ')
    }
  } else if (event.type === 'finish') {
    facts.finishReasons ??= []
    facts.finishReasons.push(event.reason)
  } else if (event.type === 'tool-call-end' && event.state !== undefined) {
    facts.unparsedCalls ??= []
    facts.unparsedCalls.push({ id: event.id, state: event.state })
  } else if (event.type === 'usage') {
    facts.usage = event.usage
    facts.timings = event.timings
    if (event.servedBy !== undefined) facts.servedBy = event.servedBy
  }
}

/** Adds the headers about a generation that has ended, to a reply that begins after it. */
export function addEndHeaders({ timings, unparsedCalls, isUnstored }: GenerationFacts, reply: FastifyReply): void {
  const serverTiming = timings === undefined ? '' : encodeServerTiming(timings)
  if (serverTiming !== '') reply.header('server-timing', serverTiming)
  if (unparsedCalls !== undefined) reply.header('x-dragoman-calls', encodeUnparsedCalls(unparsedCalls))
  if (isUnstored === true) reply.header('x-dragoman-stored', 'false')
}

export function factFields({
  finishReasons,
  usage,
  timings,
  requestedModel,
  model,
  unparsedCalls,
  isStreamed: _,
  ...rest
}: GenerationFacts): object {
  // Assigned, since spreading takes more time than the rest of the log line.
  const fields: Record<string, unknown> = rest
  if (requestedModel !== undefined && requestedModel !== model) fields.requestedModel = requestedModel.slice(0, 200)
  if (model !== undefined) fields.model = model
  if (finishReasons !== undefined) fields.finishReason = [...new Set(finishReasons)].join(',')
  if (unparsedCalls !== undefined) fields.calls = encodeUnparsedCalls(unparsedCalls)
  if (usage !== undefined) {
    fields.inputTokens = usage.inputTokens
    fields.cachedInputTokens = usage.cachedInputTokens
    fields.outputTokens = usage.outputTokens
  }
  if (timings?.firstTokenMs !== undefined) fields.ttftMs = timings.firstTokenMs
  if (timings?.queueMs !== undefined) fields.queueMs = timings.queueMs
  return fields
}

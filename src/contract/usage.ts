import type { ErrorCode } from './errors.ts'

/**
 * Why a choice ended. `length`: the request's token limit; `context-full`: the model's context; `refusal`: the model declined;
 * `cancelled`: stopped on request, keeping the output; `end-of-message`: the model waits for a tool within its turn (Llama's
 * `<|eom_id|>`); `paused`: a server interrupted a long turn, to be continued.
 */
export type FinishReason =
  | 'stop'
  | 'length'
  | 'context-full'
  | 'tool-calls'
  | 'content-filter'
  | 'refusal'
  | 'cancelled'
  | 'end-of-message'
  | 'paused'

/** Where tokens of a prompt were that the embedded engine did not compute again: in a slot of its context, or in its store of prefixes. */
export type CacheTier = 'slot' | 'memory' | 'disk'

/** Token counts of a whole request, over all choices; the prompt counts once. */
export type Usage = {
  readonly inputTokens: number
  /** The part of `inputTokens` that came from a cache. */
  readonly cachedInputTokens: number
  /** Where those were; absent: none, or the engine does not know. */
  readonly cachedIn?: Readonly<Partial<Record<CacheTier, number>>>
  readonly outputTokens: number
  readonly reasoningTokens: number
  /** With speculative decoding: the tokens that were drafted, and those of them that the model chose too. */
  readonly drafts?: { readonly proposed: number; readonly accepted: number }
}

/** Durations of the phases, in milliseconds, whole or with thousandths. Core adds those that an engine does not measure, as it sees them. */
export type Timings = {
  readonly queueMs?: number
  readonly loadMs?: number
  readonly templateMs?: number
  /** From the start of the work on the prompt to the first token. */
  readonly prefillMs?: number
  /** From the request's arrival to its first generated text. */
  readonly firstTokenMs?: number
  /** From the first to the last token. */
  readonly decodeMs?: number
  /** From the request's arrival to the end of its output. */
  readonly totalMs?: number
}

/** The record of an ended generation. */
export type GenerationRecord = {
  readonly id: string
  /** The id of the principal. */
  readonly caller: string
  readonly model: string
  readonly outcome: 'ok' | ErrorCode
  readonly durationMs: number
  readonly usage?: Usage
  readonly timings?: Timings
  /** For the choices that ended. */
  readonly finishReasons?: readonly FinishReason[]
}

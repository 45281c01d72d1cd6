import type { AppError } from './errors.ts'

/** Why a choice ended. `length`: the token limit or the context was reached, whatever the text looks like. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter'

/** Token counts of a whole request, over all choices; the prompt counts once. */
export type Usage = {
  readonly inputTokens: number
  /** The part of `inputTokens` that was not computed again. */
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** Where the time went, in milliseconds; absent where the engine cannot know. */
export type Timings = {
  readonly queueMs?: number
  readonly loadMs?: number
  readonly templateMs?: number
  readonly prefillMs?: number
  /** From the request's arrival to its first generated text. */
  readonly firstTokenMs?: number
  readonly decodeMs?: number
}

/** A generated token with its log-probability, in natural logarithm. Only present when the request asked for it. */
export type GeneratedToken = {
  readonly id: number
  readonly text: string
  readonly bytes: readonly number[]
  readonly logprob: number
  readonly top: readonly {
    readonly id: number
    readonly text: string
    readonly bytes: readonly number[]
    readonly logprob: number
  }[]
}

/** A token of the prompt; without a log-probability where none was asked for, and for the first, which nothing precedes. */
export type PromptToken = Omit<GeneratedToken, 'logprob'> & { readonly logprob?: number }

/**
 * What happens while a request is answered, in order. `choice` counts from 0 to n - 1. After `seal()` a stream ends with
 * exactly one `usage` or one `error`; every choice has had its `finish` before `usage`. Where log-probabilities were asked
 * for, every token leaves on exactly one event: the one with its text, or, where it made none (it was part of a mark), the
 * next of its choice that has `tokens`; a `delta` is empty only to carry tokens that made no text at all.
 */
export type GenerationEvent =
  /** The prompt is read: the first token is next. At most once, before all text; absent when the engine cannot know. */
  | { readonly type: 'prompt-read'; readonly inputTokens: number; readonly cachedInputTokens: number }
  /** Tokens of the prompt, in order, in as many events as it takes, all of them before `choice`, the first of the prompt's. */
  | { readonly type: 'prompt-tokens'; readonly choice: number; readonly promptTokens: readonly PromptToken[] }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly choice: number }
  | {
      readonly type: 'text-delta' | 'reasoning-delta'
      readonly choice: number
      readonly delta: string
      readonly tokens?: readonly GeneratedToken[]
    }
  | {
      readonly type: 'tool-call-start'
      readonly choice: number
      readonly id: string
      readonly name: string
      readonly tokens?: readonly GeneratedToken[]
    }
  | {
      readonly type: 'tool-call-delta'
      readonly choice: number
      readonly id: string
      readonly delta: string
      readonly tokens?: readonly GeneratedToken[]
    }
  | { readonly type: 'tool-call-end'; readonly choice: number; readonly id: string }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly reason: FinishReason
      /** The stop text that ended it. */
      readonly stopSequence?: string
      /** The upstream's own word, when it is not one of ours. */
      readonly rawReason?: string
    }
  | { readonly type: 'usage'; readonly usage: Usage; readonly timings: Timings }
  | { readonly type: 'error'; readonly error: AppError }

/** An engine may yield the model's raw text; `model-text/parse` turns that into events and passes all else through. */
export type EngineEvent =
  | GenerationEvent
  | { readonly type: 'raw-text'; readonly choice: number; readonly text: string; readonly tokens?: readonly GeneratedToken[] }

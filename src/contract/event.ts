import type { AppError } from './errors.ts'
import type { Annotation, ToolCallState } from './request.ts'

/**
 * Why a choice ended, whatever its text looks like. `length`: the request's token limit was reached; `context-full`: the model's context
 * was; `refusal`: the model declined; `cancelled`: a request to stop, with what was generated kept; `end-of-message`: the model waits
 * for a tool in the middle of its turn (Llama's `<|eom_id|>`); `paused`: a server interrupted a long turn, to be continued.
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

/** What is known of a generation when it begins. */
export type StartEvent = {
  readonly type: 'start'
  /** The id of the model that serves the request. */
  readonly model: string
  /** Absent when the engine cannot count before it runs. */
  readonly inputTokens?: number
  /**
   * How the output constraint is kept: `full`, by a grammar that is exactly it; `partial`, by a grammar that lets through more than it;
   * `validated`, by checking what came. Absent when the request has none.
   */
  readonly structured?: 'full' | 'partial' | 'validated'
  /** The sampling preset that the request runs under; `unnamed` for one that came with a request to switch. */
  readonly preset?: string
  /** What the caller should know, in words, such as an approximation that was made. */
  readonly warnings: readonly string[]
}

/**
 * What happens while a request is answered, in order. `choice` counts from 0 to n - 1. Blocks of one choice (text, reasoning, refusal,
 * call) never interleave: a `-start` or a delta of another kind ends the block before it. After `seal()` a stream ends with exactly one
 * `usage` or one `error`; every choice has had its `finish` before `usage`. Where log-probabilities were asked
 * for, every token leaves on exactly one event: the one with its text, or, where it made none (it was part of a mark), the
 * next of its choice that has `tokens`; a `delta` is empty only to carry tokens that made no text at all.
 */
export type GenerationEvent =
  /** The first event: the request is checked and runs. It does not yet decide the reply's status: what fails after it may still reject. */
  | StartEvent
  /** The prompt is read: the first token is next. At most once, before all text; absent when the engine cannot know. */
  | { readonly type: 'prompt-read'; readonly inputTokens: number; readonly cachedInputTokens: number }
  /** Tokens of the prompt, in order, in as many events as it takes, all of them before `choice`, the first of the prompt's. */
  | { readonly type: 'prompt-tokens'; readonly choice: number; readonly promptTokens: readonly PromptToken[] }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'refusal-start' | 'refusal-end'; readonly choice: number }
  /** `opaque`: what the server signed or encrypted of this block. */
  | { readonly type: 'reasoning-end'; readonly choice: number; readonly opaque?: string }
  /** What the text so far is based on. */
  | { readonly type: 'annotation'; readonly choice: number; readonly annotation: Annotation }
  | {
      readonly type: 'text-delta' | 'reasoning-delta' | 'refusal-delta'
      readonly choice: number
      readonly delta: string
      readonly tokens?: readonly GeneratedToken[]
    }
  | {
      readonly type: 'tool-call-start'
      readonly choice: number
      readonly id: string
      readonly name: string
      /** Absent: a call of a function. */
      readonly kind?: 'custom'
      readonly tokens?: readonly GeneratedToken[]
    }
  | {
      readonly type: 'tool-call-delta'
      readonly choice: number
      readonly id: string
      readonly delta: string
      readonly tokens?: readonly GeneratedToken[]
    }
  | {
      readonly type: 'tool-call-end'
      readonly choice: number
      readonly id: string
      /** Absent: `ok`. */
      readonly state?: Exclude<ToolCallState, 'ok'>
      /** What the model wrote, where the deltas are not that. */
      readonly raw?: string
    }
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

import type { AppError } from './errors.ts'
import type { CanonicalPath } from './field.ts'
import type { Annotation, JsonObject, ToolCallState } from './request.ts'
import type { ServerToolKind, ToolOutcome } from './server-tool.ts'
import type { ComparedPrompt, FinishReason, PromptChange, Timings, Usage } from './usage.ts'

export type { FinishReason, Timings, Usage } from './usage.ts'

/** A generated token with its log-probability (natural logarithm). Only present on request. */
export type GeneratedToken = {
  /** -1 if the server that generates does not report it. */
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

/** A prompt token; the first has no log-probability, and the others only on request. */
export type PromptToken = Omit<GeneratedToken, 'logprob'> & { readonly logprob?: number }

/** The facts known when a generation starts. */
export type StartEvent = {
  readonly type: 'start'
  readonly model: string
  /** The id of the requested model, if another one serves: a version of it, or a fallback. */
  readonly insteadOf?: string
  /** Absent when the engine cannot count before it runs. */
  readonly inputTokens?: number
  /**
   * How the output constraint is enforced: `full`, by an exact grammar; `partial`, by a grammar that allows more; `validated`, by
   * validating the output when it has ended. Absent without a constraint.
   */
  readonly structured?: 'full' | 'partial' | 'validated'
  /** The requested output limit, and the room in the context, which replaces it. */
  readonly shortened?: { readonly asked: number; readonly room: number }
  /** The sampling preset in use; `unnamed` for one sent in a switch request. */
  readonly preset?: string
  /** The model writes reasoning separately from its text, here or in other replies. */
  readonly reasons?: true
  /** Places of the request that the model does not see, such as names that its template does not print. */
  readonly ignored?: readonly CanonicalPath[]
  /** How the prompt differs from the conversation's previous turn. */
  readonly diverged?: PromptChange
  /** How it differs from the prompt of the reply in `comparesWith`. */
  readonly compared?: ComparedPrompt
  /** Messages for the caller, such as approximations. */
  readonly warnings: readonly string[]
}

/** A call of a server's tool, as in its events and its part of a reply. */
export type ServerToolCall = {
  /** Unique in the conversation. */
  readonly id: string
  readonly name: string
  readonly kind: ServerToolKind
  readonly arguments: JsonObject
  /** For a tool of an MCP server. */
  readonly mcp?: { readonly server: string; readonly name: string }
}

/** A tool of an MCP server, as callers see it. */
export type ListedTool = { readonly name: string; readonly description: string; readonly parameters: JsonObject }

/**
 * The events of a generation, in order. `choice` counts from 0 to n - 1. Blocks of one choice (text, reasoning, refusal, call, tool of
 * the server) never interleave: a `-start` or a delta of another kind ends the previous block. After `seal()` a stream ends with exactly one `usage` or
 * one `error`; each choice has its `finish` before `usage`. With log-probabilities, each token is on exactly one event: the one with
 * its text or, without text (a token of a tag), the next event of its choice with `tokens`; a `delta` is empty only to carry such
 * tokens.
 */
export type GenerationEvent =
  /** The first event: the request has been checked and runs. A failure right after it can still become an HTTP status. */
  | StartEvent
  /**
   * How much of the prompt has been read, including the part from a cache; only on request, before `prompt-read`, and if the engine knows
   * it.
   */
  | {
      readonly type: 'prompt-progress'
      readonly inputTokens: number
      readonly cachedInputTokens: number
      readonly readTokens: number
      /** Since reading the prompt began. */
      readonly elapsedMs: number
    }
  /** Prefill is complete. At most once, before all text; absent if the engine cannot know. */
  | ({ readonly type: 'prompt-read' } & Pick<Usage, 'inputTokens' | 'cachedInputTokens' | 'cachedIn'>)
  /** Prompt tokens, in order, in one or more events before all others of `choice`, the prompt's first choice. */
  | { readonly type: 'prompt-tokens'; readonly choice: number; readonly promptTokens: readonly PromptToken[] }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'refusal-start' | 'refusal-end'; readonly choice: number }
  /** `opaque`: the server's signature or encrypted content of this block. */
  | { readonly type: 'reasoning-end'; readonly choice: number; readonly opaque?: string }
  /** A source of the text so far. */
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
      /** Absent: a function call. */
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
      /** The model's raw text, if it differs from the deltas. */
      readonly raw?: string
    }
  /** The tools of an MCP server that the request names, once, before the blocks of the choice; empty with `error`, the reason. */
  | {
      readonly type: 'mcp-tools'
      readonly choice: number
      readonly server: string
      readonly tools: readonly ListedTool[]
      readonly error?: string
    }
  /**
   * A call that waits for the caller's approval: in place of its `server-tool-start`, which follows once it is approved, or at the end of
   * the choice, if the next request has the answer. A refused call has its start and its end, too.
   */
  | { readonly type: 'approval-request'; readonly choice: number; readonly call: ServerToolCall }
  /** The server runs a tool: a block of its own, without `tool-call` events, to the `server-tool-end` with its id. */
  | {
      readonly type: 'server-tool-start'
      readonly choice: number
      readonly call: ServerToolCall
      /** The call was answered without running the tool: not approved, repeated, or beyond a limit. */
      readonly isMade?: false
    }
  | { readonly type: 'server-tool-end'; readonly choice: number; readonly id: string; readonly outcome: ToolOutcome }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly reason: FinishReason
      /** The stop sequence that ended the output. */
      readonly stopSequence?: string
      /** The upstream's finish reason, if it has no canonical equivalent. */
      readonly rawReason?: string
    }
  /** `servedBy`: the replica that answered. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly timings: Timings; readonly servedBy?: string }
  | { readonly type: 'error'; readonly error: AppError }

export type EventOf<Type extends GenerationEvent['type'], Event = GenerationEvent> = Event extends GenerationEvent
  ? Type extends Event['type']
    ? Event
    : never
  : never

/** Engines may also emit raw text, which `model-text/parse` turns into events. */
export type EngineEvent =
  | GenerationEvent
  | { readonly type: 'raw-text'; readonly choice: number; readonly text: string; readonly tokens?: readonly GeneratedToken[] }

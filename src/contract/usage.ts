import type { ErrorCode } from './errors.ts'
import type { CanonicalPath } from './field.ts'
import type { MediaKind } from './media.ts'

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
  /** With speculative decoding, of all kinds together and of each. */
  readonly drafts?: DraftCounts & { readonly kinds: DraftKinds }
}

/**
 * What drafts tokens: the text so far, a grammar, a draft model, layers that were trained to predict a model's tokens, or another server,
 * which does not say how.
 */
export const draftKinds = ['ngram', 'certain', 'model', 'mtp', 'eagle3', 'server'] as const
export type DraftKind = (typeof draftKinds)[number]

/** The tokens that were drafted, and those of them that the model chose too. */
export type DraftCounts = { readonly proposed: number; readonly accepted: number }
export type DraftKinds = Readonly<Partial<Record<DraftKind, DraftCounts>>>

/** All kinds together, and each. */
export function sumDrafts(all: Iterable<DraftKinds>): DraftCounts & { readonly kinds: DraftKinds } {
  const total = { proposed: 0, accepted: 0, kinds: {} as Partial<Record<DraftKind, DraftCounts>> }
  for (const kinds of all) {
    for (const [name, { proposed, accepted }] of Object.entries(kinds)) {
      const before = total.kinds[name as DraftKind]
      total.kinds[name as DraftKind] = {
        proposed: proposed + (before?.proposed ?? 0),
        accepted: accepted + (before?.accepted ?? 0),
      }
      total.proposed += proposed
      total.accepted += accepted
    }
  }
  return total
}

/** Whether most of the prompt came from a cache, as the server says that read it. */
export function isCacheHit({ inputTokens, cachedInputTokens }: Usage): boolean {
  return cachedInputTokens > 0 && 2 * cachedInputTokens >= inputTokens
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

/** What differs: `setting` is one that a template may print, `message` or `tool` a whole one. */
export type ChangedPart =
  | 'model'
  | 'setting'
  | 'tool'
  | 'message'
  | 'text'
  | 'reasoning'
  | 'refusal'
  | 'tool-call'
  | 'tool-result'
  | MediaKind

/**
 * How it differs. `date`, `number`, `id`, `path` and `spacing`: in nothing else; `bytes`: media with other bytes; `dropped`: the chat
 * template prints it no more; `value`: another setting or model; `text`: in another way.
 */
export type ChangeKind =
  | 'date'
  | 'number'
  | 'id'
  | 'path'
  | 'spacing'
  | 'text'
  | 'bytes'
  | 'order'
  | 'added'
  | 'removed'
  | 'dropped'
  | 'value'

/** A text before and now, and the equal text around the difference. */
export type ChangedTexts = {
  readonly lead: string
  readonly before: string
  readonly now: string
  readonly trail: string
}

/** The first difference between a prompt and an earlier one: what follows it cannot come from a prompt cache. */
export type PromptChange = {
  readonly at: CanonicalPath
  readonly part: ChangedPart
  /** Absent: the earlier text is forgotten. */
  readonly kind?: ChangeKind
  /** It is in the system messages that the conversation begins with. */
  readonly isSystem?: true
  /** An estimate of the tokens that a cache could have had. */
  readonly missedTokens: number
  readonly texts?: ChangedTexts
}

/** The outcome of a comparison that a request asks for: with the prompt of an earlier reply, which is not always known. */
export type ComparedPrompt = PromptChange | 'same' | 'unknown'

export type GenerationRecord = {
  readonly id: string
  /** The id of the principal. */
  readonly caller: string
  /** The batch whose line it is. */
  readonly batch?: string | undefined
  readonly model: string
  readonly outcome: 'ok' | ErrorCode
  readonly durationMs: number
  readonly usage?: Usage
  readonly timings?: Timings
  /** For the choices that ended. */
  readonly finishReasons?: readonly FinishReason[]
  /** How the prompt differs from the conversation's previous turn. */
  readonly diverged?: PromptChange
}

/** A JSON object as a caller sent it: tool schemas, tool arguments, template variables. */
export type JsonObject = { readonly [key: string]: unknown }

export type TextPart = { readonly type: 'text'; readonly text: string }
export type ImagePart = { readonly type: 'image'; readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
export type AudioPart = { readonly type: 'audio'; readonly data: string; readonly format: string }
export type ContentPart = TextPart | ImagePart | AudioPart

/** A call that the model made in an earlier turn. `arguments` is JSON text, exactly as it was generated. */
export type ToolCall = { readonly id: string; readonly name: string; readonly arguments: string }

/** One turn. Dialects turn plain strings into one text part, so that both spellings render identically. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content: readonly ContentPart[]
      readonly reasoning?: string
      readonly toolCalls: readonly ToolCall[]
      readonly name?: string
    }
  | {
      readonly role: 'tool'
      readonly content: readonly ContentPart[]
      readonly toolCallId: string
      readonly name?: string
    }

export type Tool = { readonly name: string; readonly description?: string; readonly parameters?: JsonObject }

/** What the model continues: a conversation (rendered with its chat template) or a text as it is. */
export type Prompt =
  | { readonly type: 'chat'; readonly messages: readonly Message[]; readonly tools: readonly Tool[] }
  | { readonly type: 'text'; readonly text: string }

/** How tokens are chosen. An absent field means the model's own default; 0 and 1 are values, not absences. */
export type Sampling = {
  /** 0 is greedy. */
  readonly temperature?: number
  readonly topP?: number
  /** 0 keeps every token. */
  readonly topK?: number
  readonly minP?: number
  /** The same seed and request give the same text on the same engine; absent means random. */
  readonly seed?: number
  /** Divides the logits of tokens in the prompt and the output (CTRL paper, section 4.1); 1 is off. */
  readonly repetitionPenalty?: number
  /** Subtracted once from the logit of each token already in the output (OpenAI). */
  readonly presencePenalty?: number
  /** Subtracted once per occurrence in the output (OpenAI). */
  readonly frequencyPenalty?: number
  /** Token id to a value added to its logit; -100 forbids, 100 forces. */
  readonly logitBias?: ReadonlyMap<number, number>
  readonly xtc?: { readonly probability: number; readonly threshold: number }
  readonly dry?: {
    readonly multiplier: number
    readonly base: number
    readonly allowedLength: number
    /** How many recent tokens are searched for repetitions; -1 is the whole context. */
    readonly range: number
    readonly sequenceBreakers: readonly string[]
  }
}

/** One generation, in no dialect's words. Made by `dialect/*` from a validated body; engines trust it. */
export type GenerationRequest = {
  /** Made by us, unique, and on the wire as the reply's id. */
  readonly id: string
  /** The model as the caller named it: an id or an alias. */
  readonly model: string
  readonly prompt: Prompt
  readonly sampling: Sampling
  /** Absent means "until the model stops or the context is full". */
  readonly maxOutputTokens?: number
  /** Generation ends before the first of these texts, which is never part of the output. */
  readonly stop: readonly string[]
  /** Keeps the model from ending its turn; the output then ends by length or stop text only. */
  readonly ignoreEos: boolean
}

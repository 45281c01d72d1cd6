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

export type Tool = {
  readonly name: string
  readonly description?: string
  readonly parameters?: JsonObject
  /** The arguments must satisfy `parameters`, not only resemble them. */
  readonly strict?: boolean
}

/** Which of the declared tools the model may or must call. */
export type ToolChoice =
  /** The model decides. `names` limits what it may call; absent means every declared tool. */
  | { readonly type: 'auto'; readonly names?: readonly string[] }
  | { readonly type: 'none' }
  /** At least one call, and nothing but calls (after reasoning). `names` as above: one name is OpenAI's named choice. */
  | { readonly type: 'required'; readonly names?: readonly string[] }

/** How the model thinks. An absent field means the template's own default. */
export type ReasoningOptions = {
  readonly enabled?: boolean
  /** The caller's word, as templates know it: `low`, `medium`, `high` … */
  readonly effort?: string
  /** Thinking is closed after this many tokens; 0 closes it at once. */
  readonly budgetTokens?: number
  /** Whether the reasoning of earlier turns is shown to the model again. */
  readonly preserve?: boolean
}

/** What the output must be. It binds the text after reasoning and beside tool calls. */
export type OutputConstraint =
  | { readonly type: 'text' }
  | { readonly type: 'json-object' }
  /** `strict`: what cannot be enforced is refused, not validated afterwards. Name and description are for servers that take them. */
  | {
      readonly type: 'json-schema'
      readonly name?: string
      readonly description?: string
      readonly schema: JsonObject | boolean
      readonly strict: boolean
    }
  | { readonly type: 'regex'; readonly pattern: string }
  | { readonly type: 'gbnf'; readonly grammar: string }

/**
 * What the model continues: a conversation (rendered with its chat template), a text as it is, or tokens as they are. Or a
 * gap that it fills, between two texts, where it was trained for that.
 */
export type Prompt =
  | {
      readonly type: 'chat'
      readonly messages: readonly Message[]
      readonly tools: readonly Tool[]
      /** Variables for the chat template; they win over what `reasoning` sets. */
      readonly templateVariables: JsonObject
      /**
       * Where the output begins: in a turn of its own; in the last message, which is an assistant's and is continued; or
       * nowhere in particular (the template's generation prompt is left out).
       */
      readonly start: 'new-turn' | 'last-message' | 'bare'
      /** Text that the answer begins with; it is put after the generation prompt and is not part of the output. */
      readonly responsePrefix: string
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | { readonly type: 'infill'; readonly prefix: string; readonly suffix: string }

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
  /** How many of the last tokens the repetition penalty looks at; -1 is the whole context, 0 is none. */
  readonly repetitionRange?: number
  /** Subtracted once from the logit of each token already in the output (OpenAI). */
  readonly presencePenalty?: number
  /** Subtracted once per occurrence in the output (OpenAI). */
  readonly frequencyPenalty?: number
  /** Token id to a value added to its logit; -100 forbids, 100 forces. */
  readonly logitBias?: ReadonlyMap<number, number>
  readonly xtc?: { readonly probability?: number; readonly threshold?: number }
  readonly dry?: {
    /** 0 is off, and so is an absent one. */
    readonly multiplier?: number
    readonly base?: number
    readonly allowedLength?: number
    /** How many recent tokens are searched for repetitions; -1 is the whole context. */
    readonly range?: number
    readonly sequenceBreakers?: readonly string[]
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
  /** How many independent answers to generate from the one prompt; at least 1. */
  readonly choices: number
  readonly toolChoice: ToolChoice
  /** False: at most one call per choice. */
  readonly parallelToolCalls: boolean
  readonly reasoning: ReasoningOptions
  readonly output: OutputConstraint
  /** The request field that holds what `output` was made of, for failures about it. */
  readonly outputParam?: string
  /** Present: every generated token comes with its log-probability, and those of the `top` likeliest beside it. */
  readonly logprobs?: { readonly top: number }
  /**
   * Present: the prompt's own tokens are told as `prompt-tokens`; `logprobs`: each but the first with its log-probability, and
   * those of the `top` likeliest in its place. An engine that cannot is never asked to (`PreparedGeneration.tellsPrompt`).
   */
  readonly promptTokens?: { readonly logprobs?: { readonly top: number } }
  /** Absent means "until the model stops or the context is full"; 0, only with `promptTokens`, that the prompt is merely read. */
  readonly maxOutputTokens?: number
  /** Nobody asked for `maxOutputTokens`: it is the protocol's own default, and gives way to a preset's. */
  readonly isMaxOutputAssumed?: true
  /**
   * The model cannot end its turn before this many tokens; a stop text, or the end of what a constraint allows, still can. An
   * engine that cannot is never asked to (`PreparedGeneration.keepsMinimum`).
   */
  readonly minOutputTokens?: number
  /** Generation ends before the first of these texts, which is never part of the output. */
  readonly stop: readonly string[]
  /** Keeps the model from ending its turn; the output then ends by length or stop text only. */
  readonly ignoreEos: boolean
}

/** What a chat prompt holds when its caller asks for nothing special. */
export const plainChat = {
  tools: [],
  templateVariables: {},
  start: 'new-turn',
  responsePrefix: '',
} as const satisfies Partial<Extract<Prompt, { type: 'chat' }>>

/** What a request holds when its caller asks for nothing special: one answer, free text, every declared tool allowed. */
export const plainRequest = {
  sampling: {},
  choices: 1,
  toolChoice: { type: 'auto' },
  parallelToolCalls: true,
  reasoning: {},
  output: { type: 'text' },
  stop: [],
  ignoreEos: false,
} as const satisfies Partial<GenerationRequest>

/** A JSON object as a caller sent it: tool schemas, tool arguments, template variables. */
export type JsonObject = { readonly [key: string]: unknown }

/** What a piece of text is based on: a page (OpenAI `url_citation`) or a file. Indices count UTF-16 code units of the text. */
export type Annotation =
  | {
      readonly type: 'url-citation'
      readonly url: string
      readonly title?: string
      readonly startIndex?: number
      readonly endIndex?: number
    }
  | { readonly type: 'file-citation'; readonly fileId: string; readonly filename?: string; readonly index?: number }

export type TextPart = { readonly type: 'text'; readonly text: string; readonly annotations?: readonly Annotation[] }

export type MediaKind = 'image' | 'audio' | 'video' | 'file'

/**
 * An image, a recording, a film or a document. It holds bytes, or the id of a file that the media layer has checked and keeps: never a
 * URL, so that no engine fetches what a caller names.
 */
export type MediaPart = {
  readonly type: 'media'
  readonly kind: MediaKind
  /** MIME type, such as `image/png`. */
  readonly mediaType: string
  readonly source: { readonly type: 'bytes'; readonly base64: string } | { readonly type: 'handle'; readonly id: string }
  readonly detail?: 'auto' | 'low' | 'high'
  readonly filename?: string
}

export type ContentPart = TextPart | MediaPart

/** `opaque` is what a server signed or encrypted (a signature, `encrypted_content`); it goes back to that server unchanged. */
export type ReasoningPart = { readonly type: 'reasoning'; readonly text: string; readonly opaque?: string }

/** The model's own words when it declines to answer. */
export type RefusalPart = { readonly type: 'refusal'; readonly text: string }

/** How well the text that the model wrote reads as a call. */
export type ToolCallState = 'ok' | 'repaired' | 'unparseable'

export type ToolCallPart = {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** JSON text for a function, free text for a custom tool; exactly as it was generated unless `state` says otherwise. */
  readonly input: string
  /** Absent: a call of a function. */
  readonly kind?: 'custom'
  /** Absent: `ok`. */
  readonly state?: Exclude<ToolCallState, 'ok'>
  /** What the model wrote, where `input` is not that. */
  readonly raw?: string
}

/** The result of a tool that the server ran itself, inside the assistant's turn. */
export type ToolResultPart = {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly content: readonly ContentPart[]
  readonly isError?: true
}

/** A part of an assistant's turn; a turn's parts are in the order in which they were generated. */
export type OutputPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart | ToolResultPart | MediaPart

/** One turn. Dialects turn plain strings into one text part, so that both spellings render identically. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | { readonly role: 'assistant'; readonly parts: readonly OutputPart[]; readonly name?: string }
  | {
      readonly role: 'tool'
      readonly content: readonly ContentPart[]
      readonly toolCallId: string
      readonly name?: string
      /** The tool failed, and `content` says how. */
      readonly isError?: true
    }

export type FunctionTool = {
  readonly type?: 'function'
  readonly name: string
  readonly description?: string
  readonly parameters?: JsonObject
  /** The arguments must satisfy `parameters`, not only resemble them. */
  readonly strict?: boolean
}

/** A tool whose input is free text, or text of a grammar (OpenAI's custom tools). */
export type CustomTool = {
  readonly type: 'custom'
  readonly name: string
  readonly description?: string
  readonly grammar?: { readonly syntax: 'lark' | 'regex'; readonly definition: string }
}

/** A tool that the server runs itself, such as an MCP server's or a web search. `options` are the caller's. */
export type ServerTool = { readonly type: 'server'; readonly name: string; readonly options: JsonObject }

export type Tool = FunctionTool | CustomTool | ServerTool

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
  /** Present: every generated token comes with its log-probability, and those of the `top` likeliest beside it. */
  readonly logprobs?: { readonly top: number }
  /**
   * Present: the prompt's own tokens are told as `prompt-tokens`; `logprobs`: each but the first with its log-probability, and
   * those of the `top` likeliest in its place. An engine that cannot is never asked to (`PreparedGeneration.reportsPrompt`).
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

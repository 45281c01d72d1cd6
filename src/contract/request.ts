import type { CallOrigin } from './call-origin.ts'
import type { CallerKeys } from './caller-keys.ts'
import type { MediaBytes, MediaKind, MediaReference } from './media.ts'
import type { Sampling } from './sampling.ts'
import type { RequestTemplate } from './template.ts'

/** A JSON object as a caller sent it: tool schemas, tool arguments, template variables. */
export type JsonObject = { readonly [key: string]: unknown }

/** A citation of a page (OpenAI `url_citation`) or a file. Indices count UTF-16 code units of the text. */
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

/**
 * An image, audio, a video or a document. `dialect/*` refers to it as the caller does; the reference is replaced by the bytes before an
 * engine gets the request.
 */
export type MediaPart = {
  readonly type: 'media'
  readonly kind: MediaKind
  readonly source: MediaBytes | MediaReference
  readonly detail?: 'auto' | 'low' | 'high'
  readonly filename?: string
}

export type ContentPart = TextPart | MediaPart

/** `opaque`: a server's signature or `encrypted_content`, which goes back to that server unchanged. */
export type ReasoningPart = { readonly type: 'reasoning'; readonly text: string; readonly opaque?: string }

export type RefusalPart = { readonly type: 'refusal'; readonly text: string }

/** How well the model's text parsed as a call. */
export type ToolCallState = 'ok' | 'repaired' | 'unparseable'

export type ToolCallPart = {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** JSON for a function, free text for a custom tool; exactly as generated, unless `state` is set. */
  readonly input: string
  /** Absent: a function call. */
  readonly kind?: 'custom'
  /** Absent: `ok`. */
  readonly state?: Exclude<ToolCallState, 'ok'>
  /** The model's raw text, if it differs from `input`. */
  readonly raw?: string
}

/** The result of a tool that the server ran itself, inside the assistant's turn. */
export type ToolResultPart = {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly content: readonly ContentPart[]
  readonly isError?: true
}

/** A part of an assistant's turn, in the order of generation. */
export type OutputPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart | ToolResultPart | MediaPart

/** One turn. Dialects convert plain strings to one text part, so that both spellings render identically. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | { readonly role: 'assistant'; readonly parts: readonly OutputPart[]; readonly name?: string }
  | {
      readonly role: 'tool'
      readonly content: readonly ContentPart[]
      readonly toolCallId: string
      readonly name?: string
      /** The tool failed; `content` explains how. */
      readonly isError?: true
    }

export type FunctionTool = {
  readonly type?: 'function'
  readonly name: string
  readonly description?: string
  readonly parameters?: JsonObject
  /** The arguments must satisfy `parameters`, not only resemble them. */
  readonly strict?: boolean
  /** A message describes the tool, so that the beginning of the prompt stays unchanged; engines that render the prompt do not list it. */
  readonly isDeferred?: true
  /**
   * A schema to enforce instead of `parameters`, which models and servers other than Dragoman see. Core sets it where the arguments need a
   * grammar of ours.
   */
  readonly enforced?: JsonObject
}

/** A tool with free text or text of a grammar as input (OpenAI's custom tools). */
export type CustomTool = {
  readonly type: 'custom'
  readonly name: string
  readonly description?: string
  readonly grammar?: { readonly syntax: 'lark' | 'regex'; readonly definition: string }
}

/** A tool of the caller, who runs it; `ToolUse` enables the server's own. */
export type Tool = FunctionTool | CustomTool

/** Which declared tools the model may or must call. */
export type ToolChoice =
  /** The model decides. `names` limits the callable tools; absent means all. */
  | { readonly type: 'auto'; readonly names?: readonly string[] }
  | { readonly type: 'none' }
  /**
   * At least one call, and only calls after reasoning. One name is OpenAI's named choice. `isRepeated`: the first output had no call, so
   * the engine should use its strongest means.
   */
  | { readonly type: 'required'; readonly names?: readonly string[]; readonly isRepeated?: true }

/** The server tools that a request enables, and how they run. */
export type ToolUse = {
  /** Names of tools, or of configured MCP servers for all of theirs; absent: all that the caller may use. Others are refused. */
  readonly names?: readonly string[]
  /** MCP servers with the request's own terms; beside `names`. */
  readonly mcpServers?: readonly McpServerUse[]
  /** The turns of the model that may call tools; after that it has to answer. 0: no turn may. */
  readonly maxTurns: number
  /** The executions of tools allowed in one reply, by tool name; `*`: of all together. Absent: no limit. */
  readonly maxCalls?: Readonly<Record<string, number>>
  /** The limit of each execution; absent: the tool's own. */
  readonly timeoutMs?: number
  /** Executions of one key and session share a folder of files; absent: the request has a folder of its own. */
  readonly sessionId?: string
  /** Whether arguments that do not match the tool's schema are repaired. */
  readonly heals: boolean
  /** The calls that need the caller's approval: all, or those of tools that require it (`ServerTool.needsApproval`). */
  readonly approves: 'all' | 'marked'
  /**
   * How the caller is asked: by an event, while the reply waits for an answer through another request; in the reply, which ends so that the
   * next request answers (`approvals`); or not at all, and the model learns that the call needs approval.
   */
  readonly asks: 'with-event' | 'by-ending' | 'never'
  /** Answers to the calls that wait for approval at the end of the conversation. */
  readonly approvals?: readonly ToolApproval[]
  readonly web?: WebTerms
  /** The reply shows the tools of `mcpServers`, or why one has none; without it, such a request fails. */
  readonly showsServers?: true
  /** The reply does not show calls and their results, so later requests cannot contain them. */
  readonly hidesCalls?: true
}

export type WebTerms = {
  /** Rules for search results; absent: as `pages`. */
  readonly searches?: SiteRules
  /** Rules for pages to read; absent: as `searches`. */
  readonly pages?: SiteRules
  /** The user's rough location, in words. */
  readonly userPlace?: string
}

/** Sites: a host with its subdomains, or a host and the beginning of a path, such as `example.com/blog`. */
export type SiteRules = { readonly allowed?: readonly string[]; readonly blocked?: readonly string[] }

export type McpServerUse = {
  /** Its name in the configuration or, with `url`, the request's own. */
  readonly label: string
  /** Its address, at a host that the operator allows. Absent: a configured server. */
  readonly url?: string
  /** Sent to `url`, authorization included. */
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: all of its tools. */
  readonly allowedTools?: readonly string[]
  /** The tools whose calls need approval besides those that the operator marked; absent: no others. */
  readonly approval?: 'all' | { readonly tools: readonly string[] } | { readonly allExcept: readonly string[] }
  /** The conversation already shows its tools: the reply lists them only if they are no longer available. */
  readonly isListed?: true
}

/** A caller's decision about a call that waited for its approval. */
export type ToolApproval = { readonly callId: string; readonly isApproved: boolean; readonly reason?: string }

/** Reasoning options. An absent field means the template's default. */
export type ReasoningOptions = {
  readonly enabled?: boolean
  /** As templates name it: `low`, `medium`, `high` … */
  readonly effort?: string
  /** Reasoning is closed after this many tokens; 0 closes it immediately. */
  readonly budgetTokens?: number
  /** The text that closes reasoning with a used-up budget, as its end. */
  readonly budgetMessage?: string
  /** A server without such a switch, budget or choice ignores it; a budget that is not enforced is reported as ignored. */
  readonly isWish?: true
  /** Whether the prompt includes the reasoning of earlier turns. */
  readonly preserve?: boolean
}

/** The constraint on the output text, outside of reasoning and tool calls. */
export type OutputConstraint =
  | { readonly type: 'text' }
  | { readonly type: 'json-object' }
  /** `strict`: a schema that cannot be enforced is refused, rather than validated afterwards. Name and description are for servers. */
  | {
      readonly type: 'json-schema'
      readonly name?: string
      readonly description?: string
      readonly schema: JsonObject | boolean
      readonly strict: boolean
    }
  | { readonly type: 'regex'; readonly pattern: string }
  /** In GBNF, or in Lark's language. */
  | { readonly type: 'gbnf'; readonly grammar: string }
  /** Free text in which each trigger begins one of the structures. */
  | { readonly type: 'tagged'; readonly structures: readonly TaggedStructure[]; readonly triggers: readonly string[] }

/** The JSON of a schema between two texts. */
export type TaggedStructure = { readonly begin: string; readonly schema: JsonObject | boolean; readonly end: string }

/**
 * The model's input: a conversation (rendered with its chat template), verbatim text, tokens, or a prefix and a suffix to fill in
 * between, for models trained for that.
 */
export type Prompt =
  | {
      readonly type: 'chat'
      readonly messages: readonly Message[]
      readonly tools: readonly Tool[]
      /** Variables for the chat template; they override those of `reasoning`. */
      readonly templateVariables: JsonObject
      /**
       * The chat template of this request alone; absent: the model's. Dialects name one of the server's, and engines get the template
       * itself. Refused unless the engine supports it (`PreparedGeneration.usesTemplate`).
       */
      readonly template?: string | RequestTemplate
      /**
       * Where the output begins: in a new turn, at the end of the last message, which is an assistant's, or (`bare`) without the template's
       * generation prompt.
       */
      readonly start: 'new-turn' | 'last-message' | 'bare'
      /** The beginning of the answer, placed after the generation prompt; not part of the output. */
      readonly responsePrefix: string
      /**
       * The messages themselves show the tools and earlier calls, in this format (a name of `model-text/formats`), and calls are read in
       * it; the chat template does not show them. Absent: the model's own format, shown by the template.
       */
      readonly toolFormat?: string
      /** If another server parses its model's calls, calls that it leaves in the text stay text. */
      readonly keepsCallTexts?: true
      /**
       * Undeclared tools that may be called, too: the client answers such calls. These are the ones that the prompt does not show; calls of
       * any other name are read as well. Absent: a call of an undeclared tool is text.
       */
      readonly otherTools?: readonly FunctionTool[]
    }
  /**
   * `readsControlTokens`: the caller also wrote the template's part, so texts of control tokens become control tokens. `turns`: texts that
   * core replaces by the chat template's own, here and in stop sequences.
   */
  | { readonly type: 'text'; readonly text: string; readonly readsControlTokens?: true; readonly turns?: TurnPlaceholders }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | { readonly type: 'infill'; readonly prefix: string; readonly suffix: string }

export type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/**
 * The texts that stand for the beginnings of turns, and for their ends. Where a text has no ends, the beginning of a turn includes the end
 * of the other's.
 */
export type TurnPlaceholders = {
  readonly user: string
  readonly userEnd: string
  readonly assistant: string
  readonly assistantEnd: string
}

/** Facts for the server that generates, besides the request; engines that generate themselves ignore them. */
export type Forwarded = {
  readonly user?: string
  readonly safetyIdentifier?: string
  readonly serviceTier?: string
  readonly promptCacheKey?: string
  readonly promptCacheRetention?: string
  readonly metadata?: { readonly [key: string]: string }
}

/** The LoRA adapters for a request: none, the loaded ones (at least one), or a single one by name. */
export type AdapterChoice =
  | { readonly type: 'none' }
  | { readonly type: 'loaded' }
  | { readonly type: 'named'; readonly name: string }

/** One generation, independent of any dialect. Made by `dialect/*` from a validated body; engines trust it. */
export type GenerationRequest = {
  /** Unique, made by us, and the id of the reply on the wire. */
  readonly id: string
  /** The id of the principal that sent it, set by core: engines that store data of a request keep it apart by this id. */
  readonly owner?: string
  /** The origin of the request, set by core: engines may pass it to servers that generate for them. */
  readonly origin?: CallOrigin
  /** The model as the caller named it: an id or an alias. */
  readonly model: string
  readonly prompt: Prompt
  readonly sampling: Sampling
  /** The number of independent answers to the prompt; at least 1. */
  readonly choices: number
  readonly toolChoice: ToolChoice
  /** Tools that the server runs itself, beside those of the prompt; absent: none. Only for chat prompts and one choice. */
  readonly toolUse?: ToolUse
  /** False: at most one call per choice. */
  readonly parallelToolCalls: boolean
  readonly reasoning: ReasoningOptions
  readonly output: OutputConstraint
  /** The text may contain special tokens other than the end of the turn; never for a conversation, whose structure they are. */
  readonly showsSpecialTokens?: true
  /**
   * Report the log-probability of each generated token and of the `top` most likely ones; of `topHere` if the model runs here or its
   * server lists any number.
   */
  readonly logprobs?: { readonly top: number; readonly topHere?: number }
  /**
   * Report the prompt's tokens as `prompt-tokens`; with `logprobs`, each but the first with its log-probability and those of the
   * `top` most likely tokens. Refused unless the engine supports it (`PreparedGeneration.reportsPrompt`).
   */
  readonly promptTokens?: { readonly logprobs?: { readonly top: number } }
  /** The reply begins with the number of its input tokens: if the server would report it only at the end, it is counted before. */
  readonly tellsInputFirst?: true
  /** Engines with slots of their own keep the prompt in its slot while another one is free. */
  readonly pinsPrompt?: true
  /** The id of an earlier reply of the caller: the reply tells how its prompt differs from that one's. */
  readonly comparesWith?: string
  /** The reply reports how far the prompt has been read, if the engine reports it. */
  readonly tellsProgress?: true
  /** Absent: until the model stops or the context is full. 0, only with `promptTokens`: read the prompt only. */
  readonly maxOutputTokens?: number
  /** `maxOutputTokens` is a default of the protocol or of a preset: it gives way to a preset's, and to the room in the context. */
  readonly isMaxOutputAssumed?: true
  /**
   * The model cannot end its turn before this many tokens; a stop sequence or a constraint still can. Refused unless the engine
   * supports it (`PreparedGeneration.keepsMinimum`).
   */
  readonly minOutputTokens?: number
  /** Stop sequences: generation ends before the first one, which is not part of the output. */
  readonly stop: readonly string[]
  /** Prevents the model from ending its turn; only length and stop sequences end the output. */
  readonly ignoreEos: boolean
  /** Absent: the loaded ones, if any. */
  readonly adapter?: AdapterChoice
  readonly forwarded?: Forwarded
  /**
   * Fields that only one kind of server can honour, by the caller's names. Refused unless they reach one
   * (`PreparedGeneration.takesServerFields`).
   */
  readonly serverFields?: JsonObject
  /** Keys for the servers that generate, used instead of the configured ones; other engines ignore them. */
  readonly callerKeys?: CallerKeys
}

/** The generations of one request, such as one for each of several prompts. */
export type GenerationRequests = readonly [GenerationRequest, ...GenerationRequest[]]

/** The defaults of a chat prompt. */
export const plainChat = {
  tools: [],
  templateVariables: {},
  start: 'new-turn',
  responsePrefix: '',
} as const satisfies Partial<Extract<Prompt, { type: 'chat' }>>

/** The defaults for server tools, for protocols without fields for them. */
export const plainToolUse = { maxTurns: 25, heals: true, approves: 'marked', asks: 'never' } as const satisfies Partial<ToolUse>

/** The defaults of a request: one answer, free text, all declared tools allowed. */
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

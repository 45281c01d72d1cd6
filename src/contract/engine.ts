import type { Emit } from './emit.ts'
import type { EngineEvent } from './event.ts'
import type { OutputFormat } from './output-format.ts'
import type { GenerationRequest, Prompt, Sampling } from './request.ts'

/** Where an engine's model stands. Only the engine's own supervisor changes it; everyone else asks, never acts on it. */
export type EngineState =
  | { readonly type: 'stopped' }
  | { readonly type: 'starting' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'draining' }
  /** `retryAtMs` (epoch) is when the supervisor tries again by itself; absent when only a request will make it try. */
  | { readonly type: 'failed'; readonly reason: string; readonly retryAtMs?: number }

/** A request that was checked against the model (rendered, counted, fits) and holds nothing yet. */
export type PreparedGeneration = {
  /** Absent when the engine cannot count before it runs. */
  readonly inputTokens?: number
  /** How to read the raw text of this run; absent when it is plain text, or when the engine yields no raw text. */
  readonly outputFormat?: OutputFormat
  /**
   * How the request's `output` constraint is kept: `full`, by a grammar that is exactly it; `partial`, by a grammar that
   * lets through more than it; `validated`, by checking what came. Absent when the request has none.
   */
  readonly structured?: 'full' | 'partial' | 'validated'
  /** The engine lets no call to a strict tool through that does not satisfy its parameters; otherwise they are checked. */
  readonly callsAreCertain?: boolean
  /** The run tells the prompt's tokens, where `promptTokens` asks for them; a request that does is refused without it. */
  readonly reportsPrompt?: true
  /** The run honours `minOutputTokens`; a request that has it is refused otherwise. */
  readonly keepsMinimum?: true
  /**
   * Generates. Call it at most once, and only while holding a slot of the model: when it has settled, however it did, the
   * engine has stopped working on the request.
   */
  run(signal: AbortSignal, emit: Emit<EngineEvent>): Promise<void>
}

/** Facts about a loaded model, as far as the engine knows them. */
export type EngineFacts = {
  /** Tokens that one request may use, prompt and output together. */
  readonly contextLength?: number
  /** Token ids are below this. */
  readonly vocabularySize?: number
  /** The model has a ranking head, for `rank`; absent where it has none, or nobody knows. */
  readonly ranks?: true
  /** Numbers in a vector of `embed`. */
  readonly embeddingLength?: number
  /** The Jinja text that conversations are rendered with; absent when there is none. */
  readonly chatTemplate?: string
  /** What holds where a request says nothing of sampling, as far as it has a fixed value. */
  readonly sampling?: Sampling
  /** The name of the template in use, when it is not the model's own. */
  readonly chatTemplateName?: string
  /** The model came with a chat template: in its file, or by its configuration. */
  readonly hasOwnTemplate?: true
  /** What it reads beside text; absent where nobody knows. */
  readonly modalities?: { readonly image: boolean; readonly audio: boolean }
}

/** What conversations are rendered with: what the model came with, nothing at all, or a template that an operator named. */
export type TemplateChoice =
  | { readonly type: 'own' }
  | { readonly type: 'none' }
  | { readonly type: 'named'; readonly name: string; readonly source: string }

/** What a conversation's text depends on: which tools are shown may depend on which may be called. */
export type RenderRequest = Pick<GenerationRequest, 'reasoning'> &
  Partial<Pick<GenerationRequest, 'toolChoice'>> & { readonly prompt: Extract<Prompt, { type: 'chat' }> }

/** A text, or a conversation, whose tokens are wanted. */
export type TokenizeRequest = Pick<GenerationRequest, 'reasoning'> & {
  readonly prompt: Extract<Prompt, { type: 'chat' | 'text' }>
  /** Where the model's tokenizer wants a first token. True: there is one. False: none, not even one that a template wrote. */
  readonly addBos: boolean
  /** Whether the texts of control tokens become control tokens: in a text all of them, in a conversation the template's. */
  readonly parseSpecial: boolean
}

/** Something to be embedded: a text as it is, or its tokens. */
export type EmbedInput = Extract<Prompt, { type: 'text' | 'tokens' }>

/** A vector for each input, in their order and as the model makes them, and how many tokens were read. */
export type Embeddings = { readonly vectors: readonly Float32Array[]; readonly inputTokens: number }

/** Texts to judge: each for the query, or, without one, each for itself. */
export type RankRequest = { readonly query?: string; readonly texts: readonly string[] }

/** A score for each text, in their order, as the model's head gives it, and how many tokens were read. */
export type Ranking = {
  readonly scores: readonly number[]
  /** The scores are probabilities; otherwise they are logits. */
  readonly areProbabilities: boolean
  readonly inputTokens: number
}

/** One of the servers that run a model elsewhere. */
export type ServerReport = {
  /** Host and port. */
  readonly host: string
  /** `unhealthy`: it failed and gets no requests for a while; `half-open`: one request tests whether it is back. */
  readonly state: 'healthy' | 'half-open' | 'unhealthy'
  readonly lastFailure?: string
  readonly activeRequests: number
  /** What its requests are likely to cost, together. */
  readonly outstandingTokens: number
  /** What it was found to be; absent before it has answered. */
  readonly found?: {
    readonly kind: string
    readonly version?: string
    /** What it calls the model. */
    readonly model: string
    readonly contextLength?: number
    /** What it can do by itself; the rest is done here, or refused by name. */
    readonly abilities: Readonly<Record<string, boolean>>
  }
}

export type DetokenizeRequest = {
  readonly tokens: readonly number[] /** With the texts of control tokens. */
  readonly special: boolean
}

/** Access to the model's tokenizer and chat template. */
export interface Tokenizer {
  /** The tokens of a text or a conversation. */
  tokenize(request: TokenizeRequest, signal: AbortSignal): Promise<readonly number[]>
  /** How many tokens that would be, without handing them over. */
  count(request: TokenizeRequest, signal: AbortSignal): Promise<number>
  /** The text of tokens. Rejects with `invalid-request` for unknown ids. */
  detokenize(request: DetokenizeRequest, signal: AbortSignal): Promise<string>
  /** What the model would be given for a conversation, as text. Rejects as `prepare` does. */
  render(request: RenderRequest, signal: AbortSignal): Promise<string>
}

export interface Embedder {
  /**
   * Computes while holding a slot of the model, and has stopped when it settles. Rejects with `context-length-exceeded` or
   * `invalid-request`, at `['inputs', index]`, before anything is computed.
   */
  embed(inputs: readonly EmbedInput[], signal: AbortSignal): Promise<Embeddings>
}

export interface Ranker {
  /** As `embed`, for models with a ranking head; rejects with `invalid-request` for others. A failure is at `['texts', index]`. */
  rank(request: RankRequest, signal: AbortSignal): Promise<Ranking>
}

export interface TemplateSwitch {
  /**
   * Renders conversations with another template from now on, also after a restart; what runs goes on as it began. Rejects
   * with `template-failed`, and leaves all as it was, when there is no such template or it does not compile.
   */
  use(choice: TemplateChoice, signal: AbortSignal): Promise<void>
}

/** Servers that run the model elsewhere. */
export interface Fleet {
  replicas(): readonly ServerReport[]
}

/** What an engine can do besides generating, by name; absent: it cannot. */
export type EngineCapabilities = {
  readonly tokenizer?: Tokenizer
  readonly embedder?: Embedder
  readonly ranker?: Ranker
  readonly templates?: TemplateSwitch
  readonly fleet?: Fleet
}

/** Anything that generates tokens. */
export interface Engine {
  readonly state: EngineState
  readonly facts: EngineFacts
  readonly capabilities: EngineCapabilities
  /** Calls the listener after every change of `state`, until the function returned is called. */
  onState(listener: (state: EngineState) => void): () => void
  /** Resolves when the model is ready; loads it if need be. Rejects with `model-unavailable` when it cannot be. */
  ensureReady(signal: AbortSignal): Promise<void>
  /**
   * Checks the request against the model without taking a slot. Waits for the model; rejects with
   * `context-length-exceeded`, `template-failed`, `unsupported-field` or `model-unavailable`.
   */
  prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration>
  /** Tokens that arrived since the engine began and that were dropped, because their request had been cancelled. */
  readonly tokensAfterCancel?: number
  /**
   * Frees what the model holds. Generations that run get up to `drainMs` to end; then they fail. Resolves when everything is freed;
   * `ensureReady` loads the model again.
   */
  unload(options: { readonly drainMs: number }): Promise<void>
  /** Ends what runs at once, then everything the engine owns, for good. Resolves when its processes are gone. */
  close(): Promise<void>
}

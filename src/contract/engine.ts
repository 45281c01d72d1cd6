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
  readonly tellsPrompt?: true
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

/** Anything that generates tokens. */
export interface Engine {
  readonly state: EngineState
  readonly facts: EngineFacts
  /** Resolves when the model is ready; loads it if need be. Rejects with `model-unavailable` when it cannot be. */
  ensureReady(signal: AbortSignal): Promise<void>
  /**
   * Checks the request against the model without taking a slot. Waits for the model; rejects with
   * `context-length-exceeded`, `template-failed`, `unsupported-field` or `model-unavailable`.
   */
  prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration>
  /** The tokens of a text or a conversation. Absent, as each method below, when the engine cannot do it. */
  tokenize?(request: TokenizeRequest, signal: AbortSignal): Promise<readonly number[]>
  /** The text of tokens; `special`: with the texts of control tokens. Rejects with `invalid-request` for unknown ids. */
  detokenize?(request: { readonly tokens: readonly number[]; readonly special: boolean }, signal: AbortSignal): Promise<string>
  /** What the model would be given for a conversation, as text. Rejects as `prepare` does. */
  render?(request: RenderRequest, signal: AbortSignal): Promise<string>
  /**
   * Renders conversations with another template from now on, also after a restart; what runs goes on as it began. Rejects
   * with `template-failed`, and leaves all as it was, when there is no such template or it does not compile.
   */
  useTemplate?(choice: TemplateChoice, signal: AbortSignal): Promise<void>
  /**
   * Computes while holding a slot of the model, and has stopped when it settles. Rejects with `context-length-exceeded` or
   * `invalid-request`, and the index in `param`, before anything is computed.
   */
  embed?(inputs: readonly EmbedInput[], signal: AbortSignal): Promise<Embeddings>
  /**
   * As `embed`, for models with a ranking head; rejects with `invalid-request` for others. The `param` of a text at fault is
   * `texts[index]`.
   */
  rank?(request: RankRequest, signal: AbortSignal): Promise<Ranking>
  /** Tokens that came, since the engine began, and that nobody took, because their request had been cancelled. */
  readonly tokensAfterCancel?: number
  /** How the servers behind the model fare, for engines that have some. */
  servers?(): readonly ServerReport[]
  /** Ends what runs, then everything the engine owns. Resolves when its processes are gone; `ensureReady` starts it again. */
  close(): Promise<void>
}

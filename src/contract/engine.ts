import type { Emit, OnTokensAfterCancel } from '../base/emit.ts'
import type { CallOrigin } from './call-origin.ts'
import type { CallerKeys } from './caller-keys.ts'
import type { AppError } from './errors.ts'
import type { EngineEvent } from './event.ts'
import type { CanonicalPath } from './field.ts'
import type { OutputFormat } from './output-format.ts'
import type { GenerationRequest, Prompt } from './request.ts'
import type { Sampling } from './sampling.ts'
import type { Services } from './services.ts'
import type { TemplateChoice } from './template.ts'

/** The state of an engine's model. Only the engine's own supervisor changes it. */
export type EngineState =
  | { readonly type: 'stopped' }
  | { readonly type: 'starting' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'draining' }
  /** `retryAtMs` (of `performance.now()`): when the supervisor retries; absent if only a request triggers a retry. */
  | { readonly type: 'failed'; readonly reason: string; readonly retryAtMs?: number }

/** The purpose of a model. `other`: something else, such as pictures or speech. */
export type ModelKind = 'chat' | 'embeddings' | 'rerank' | 'other'

/** A request checked against the model (rendered, counted, fits); it holds no resources yet. */
export type PreparedGeneration = {
  /** Absent when the engine cannot count before it runs. */
  readonly inputTokens?: number
  /** How to parse the raw text of this run; absent for plain text and for engines without raw text. */
  readonly outputFormat?: OutputFormat
  /**
   * How the `output` constraint is enforced: `full`, by an exact grammar; `partial`, by a grammar that allows more; `validated`, by
   * validating the output. Absent without a constraint.
   */
  readonly structured?: 'full' | 'partial' | 'validated'
  /** Another program enforces `output`, and the constraint may get lost on the way: the output is validated in any case. */
  readonly constraintIsSent?: true
  /** The engine guarantees that calls to strict tools satisfy their parameters; otherwise core validates them. */
  readonly callsAreCertain?: boolean
  /** With `toolChoice.isRepeated`, a grammar forces the call: text instead of a call is then worth another try. */
  readonly repeatsByGrammar?: true
  /** Places of the request that this engine ignores, as the request allows. */
  readonly ignored?: readonly CanonicalPath[]
  /** The run reports prompt tokens as `promptTokens` asks; without this, such a request is refused. */
  readonly reportsPrompt?: true
  /** `serverFields` reach a server that has all of them; without this, such a request is refused. */
  readonly takesServerFields?: true
  /** The run enforces `minOutputTokens`; without this, such a request is refused. */
  readonly keepsMinimum?: true
  /** The conversation is rendered with the prompt's own template; without this, such a request is refused. */
  readonly usesTemplate?: true
  /** At least one of the model's servers uses one of `callerKeys`; without this, they are reported as ignored. */
  readonly usesCallerKeys?: true
  /**
   * Generates. Call it at most once, while holding a slot of the model. When it settles, the engine has stopped working on the
   * request. `onTokensAfterCancel` is called with the tokens that were generated after the signal was aborted, where the engine counts them.
   */
  run(signal: AbortSignal, emit: Emit<EngineEvent>, onTokensAfterCancel?: OnTokensAfterCancel): Promise<void>
}

/** A LoRA adapter of a model. `scale` 0: only requests that name it use it, with scale 1. */
export type Adapter = { readonly name: string; readonly scale: number }

/** Facts about a loaded model, as far as the engine knows them. */
export type EngineFacts = {
  /** Tokens that one request may use, prompt and output together. */
  readonly contextLength?: number
  /** The requests that its servers compute at the same time, as far as all of them report it. */
  readonly serverSlots?: number
  /** What one of `serverSlots` has read is not there for the others: they share no caches. */
  readonly hasSeparateSlots?: true
  readonly trainedContextLength?: number
  /** Token ids are below this. */
  readonly vocabularySize?: number
  /** The model has a ranking head, for `rank`; absent for no or unknown. */
  readonly ranks?: true
  /** It has tokens for a gap between two texts; absent for no or unknown. */
  readonly infills?: true
  /** An encoder, which writes no text; absent for no or unknown. */
  readonly onlyEmbeds?: true
  /** Numbers per vector of `embed`. */
  readonly embeddingLength?: number
  /** The Jinja source of the chat template in use; absent without one. */
  readonly chatTemplate?: string
  /** Sampling defaults, as far as they are fixed values. */
  readonly sampling?: Sampling
  /** The name of the template in use, unless it is the model's own. */
  readonly chatTemplateName?: string
  /** The model's own template can be chosen: that of its file or its configuration, or for a scripted model, none. */
  readonly hasOwnTemplate?: true
  /** The adapters that are loaded with the model; absent: none. */
  readonly adapters?: readonly Adapter[]
  /** Input media; absent when unknown. */
  readonly modalities?: { readonly image: boolean; readonly audio: boolean; readonly video?: boolean }
  /** Why it reads no media although it could, or although a caller may expect it, and what to do. */
  readonly mediaProblem?: string
  /** What runs it in the place of the configured engine, and why. */
  readonly runsOn?: string
}

/** The options that a rendered conversation depends on; the tool choice can decide which tools are shown. */
export type RenderRequest = Pick<GenerationRequest, 'reasoning'> &
  Partial<Pick<GenerationRequest, 'toolChoice'>> & { readonly prompt: Extract<Prompt, { type: 'chat' }> }

export type TokenizeRequest = Pick<RenderRequest, 'reasoning' | 'toolChoice'> & {
  readonly prompt: Extract<Prompt, { type: 'chat' | 'text' }>
  /** For tokenizers with a BOS token. True: exactly one. False: none, not even one that the template wrote. */
  readonly addBos: boolean
  /** Whether special-token texts become special tokens: all in a text, only the template's in a conversation. */
  readonly parseSpecial: boolean
}

export type EmbedInput = Extract<Prompt, { type: 'text' | 'tokens' }>

/** One vector per input, in order and as the model returns it, and the number of tokens read. */
export type Embeddings = { readonly vectors: readonly Float32Array[]; readonly inputTokens: number }

/** Texts or tokens to embed, in canonical form. */
export type EmbedRequest = {
  /** The model as the caller named it: an id or an alias. */
  readonly model: string
  readonly inputs: readonly EmbedInput[]
  /** Numbers per vector; absent: the model's default. */
  readonly dimensions?: number
  /** An input that is longer than the model reads is truncated; otherwise it is refused. */
  readonly cuts?: true
  /** As in a `GenerationRequest`. */
  readonly callerKeys?: CallerKeys
}

/** One normalized vector per input, in order. `model` is the id of the model that served. */
export type EmbedResult = {
  readonly model: string
  readonly vectors: readonly Float32Array[]
  readonly inputTokens: number
  /** The indices of truncated inputs. */
  readonly cut?: readonly number[]
}

/** Texts to score: for the query or, without one, each by itself. */
export type RankRequest = { readonly query?: string; readonly texts: readonly string[] }

/** The ranking head's score per text, in order, and the number of tokens read. */
export type Ranking = {
  readonly scores: readonly number[]
  /** Whether the scores are probabilities; otherwise they are logits. */
  readonly areProbabilities: boolean
  readonly inputTokens: number
}

/** A model's scores of texts, each by itself. */
export type Scores = {
  /** One number per text, in order. */
  readonly scores: readonly number[]
  /**
   * `ranking-head`: the head's output. `log-likelihood`: the sum of the tokens' log-probabilities (natural logarithm); the first
   * token has one only where the tokenizer adds a BOS token before it.
   */
  readonly method: 'ranking-head' | 'log-likelihood'
  /** The number of tokens in each sum; absent for a ranking head. */
  readonly scoredTokens?: readonly number[]
  readonly inputTokens: number
}

/** One replica of a remote model. */
export type ServerReport = {
  /** Host and port. */
  readonly host: string
  /**
   * `unhealthy`: it failed and gets no requests for a while; `half-open`: one request tests it; `draining`: an operator took it out of use.
   */
  readonly state: 'healthy' | 'half-open' | 'unhealthy' | 'draining'
  /** The source of its address, such as `dns`; absent: the configuration. */
  readonly source?: string
  readonly lastFailure?: string
  readonly activeRequests: number
  /** The estimated cost of its requests. */
  readonly outstandingTokens: number
  /** The result of probing; absent before it has answered. */
  readonly found?: {
    readonly kind: string
    readonly protocol?: string
    readonly version?: string
    /** Its name for the model. */
    readonly model: string
    readonly contextLength?: number
    /** Its own capabilities; others are emulated here or refused by name. */
    readonly abilities: Readonly<Record<string, boolean>>
    /** For a router: what it was observed to pass on to its engines, or not. */
    readonly passes?: Readonly<Record<string, boolean>>
  }
}

export type DetokenizeRequest = {
  readonly tokens: readonly number[] /** Include the texts of special tokens. */
  readonly special: boolean
}

export type TokenPiece = { readonly id: number; readonly bytes: Uint8Array }

/** The model's tokenizer and chat template. */
export interface Tokenizer {
  /** Throws `unsupported-field` for content that has no tokens with ids, before its media are read. Absent: everything has. */
  checkTokens?(request: TokenizeRequest): void
  tokenize(request: TokenizeRequest, signal: AbortSignal): Promise<readonly number[]>
  /** As `tokenize`, with the texts of the tokens. Absent: not supported. */
  pieces?(request: TokenizeRequest, signal: AbortSignal): Promise<readonly TokenPiece[]>
  /** The number of tokens that `tokenize` would return. */
  count(request: TokenizeRequest, signal: AbortSignal): Promise<number>
  /** The text of tokens. Rejects with `invalid-request` for unknown ids. */
  detokenize(request: DetokenizeRequest, signal: AbortSignal): Promise<string>
  /** The prompt text of a conversation. Rejects as `prepare` does. */
  render(request: RenderRequest, signal: AbortSignal): Promise<string>
}

/** The caller of the work, for engines that pass it on to servers. */
export type CalledFor = { readonly callerKeys?: CallerKeys; readonly origin?: CallOrigin }

export interface Embedder {
  /**
   * Call it while holding a slot of the model; when it settles, the work has stopped. Rejects with `context-length-exceeded` or
   * `invalid-request`, at `['inputs', index]`, before anything is computed.
   */
  embed(inputs: readonly EmbedInput[], signal: AbortSignal, calledFor?: CalledFor): Promise<Embeddings>
}

export interface Ranker {
  /** As `embed`, for models with a ranking head; rejects with `invalid-request` for others. A failure is at `['texts', index]`. */
  rank(request: RankRequest, signal: AbortSignal, calledFor?: CalledFor): Promise<Ranking>
}

interface TemplateSwitch {
  /**
   * Switches the template for new requests, also across restarts; running requests keep theirs. Rejects with `template-failed`, without a
   * change, if the template is missing or does not compile.
   */
  use(choice: TemplateChoice, signal: AbortSignal): Promise<void>
}

/** A server that `setDraining` found. */
export type DrainedServer = {
  readonly url: string
  /** Host and port, as in reports. */
  readonly host: string
  /** The requests still running on it. */
  readonly activeRequests: number
}

/** The replicas of a remote model. */
export interface Fleet {
  replicas(): readonly ServerReport[]
  /**
   * Takes servers out of use, or back into it: the one of this URL, or all of this host and port. Their requests end as usual. Rejects with
   * `not-found` if there is none.
   */
  setDraining(server: string, isDraining: boolean, signal: AbortSignal): Promise<readonly DrainedServer[]>
}

/** A GPU and its memory, as counted by its driver: other programs use it, too. */
export type Device = {
  /** Its name on this machine, such as `CUDA0`. */
  readonly name: string
  readonly description: string
  readonly freeBytes: number
  readonly totalBytes: number
  /** Its memory is that of the machine. */
  readonly isShared?: true
}

export interface Devices {
  /** The GPUs of the process that has the model loaded; empty if it is not loaded, or without a GPU. Does not load the model. */
  read(signal: AbortSignal): Promise<readonly Device[]>
}

/** The capabilities of an engine besides generating. Absent ones are not supported. */
export type EngineCapabilities = {
  readonly tokenizer?: Tokenizer
  readonly embedder?: Embedder
  readonly ranker?: Ranker
  readonly templates?: TemplateSwitch
  readonly fleet?: Fleet
  readonly devices?: Devices
  readonly services?: Services
  readonly spareMemory?: SpareMemory
}

/** Memory for what only saves time. */
type SpareMemory = {
  /** The engine may use this much from now on, besides what it needs; it is loaded, or will hear of it when it is. */
  use(bytes: number): void
}

/** The memory that a model needs, known before it is loaded. */
export type MemoryNeed = {
  readonly bytes: number
  /**
   * The longest context, in tokens of each slot, that fits a budget with the other settings unchanged, or with another number of slots; at
   * most what the model was trained for. Undefined if its file does not record that.
   */
  longestContext(budgetBytes: number, slots?: number): number | undefined
  /** The refusal of a model that exceeds the budget: its need, and what to do. */
  tooLarge(budgetBytes: number): AppError
}

/**
 * Reserves the memory that a start needs. Resolves when it is free; rejects with `need.tooLarge` if it never will be, or with the signal's
 * reason. The reservation ends when the engine is `stopped` or has `failed`.
 */
export type Admit = (need: MemoryNeed, signal: AbortSignal) => Promise<void>

/** Anything that generates tokens. */
export interface Engine {
  readonly state: EngineState
  readonly facts: EngineFacts
  readonly capabilities: EngineCapabilities
  /** Calls the listener after every change of `state`. Returns a function that unsubscribes. */
  onState(listener: (state: EngineState) => void): () => void
  /**
   * Loads the model if necessary; resolves when it is ready. Undefined: it already is. Rejects with `model-unavailable` when that fails. An
   * engine that needs this machine's memory awaits `admit` before each start of its process, including later restarts.
   */
  ensureReady(signal: AbortSignal, admit?: Admit): Promise<void> | undefined
  /**
   * Throws `unsupported-field`, at its part, for media that the model cannot read, as far as that is known: called before they are read, so
   * that nothing is fetched in vain. Media may still be references. Absent: the engine reads all.
   */
  checkMedia?(request: Pick<GenerationRequest, 'prompt'>): void
  /**
   * Checks the request against the model; needs no slot. Waits for the model; rejects with
   * `context-length-exceeded`, `template-failed`, `unsupported-field` or `model-unavailable`.
   */
  prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration>
  /** Tokens dropped since the engine was created because their request was already cancelled. */
  readonly tokensAfterCancel?: number
  /**
   * Frees the model's resources. Running generations get up to `drainMs` to finish, then fail. Resolves when everything is freed;
   * `ensureReady` loads the model again.
   */
  unload(options: { readonly drainMs: number }): Promise<void>
  /** Stops running work immediately and shuts the engine down for good. Resolves when its processes have exited. */
  close(): Promise<void>
}

/** The most memory for all checkpoints of a model's slots: states after some tokens, where tokens cannot be erased. */
export const mostPointBytes = 2 ** 30
/** The most checkpoints of a slot. */
export const mostPoints = 32

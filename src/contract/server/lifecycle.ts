import type { Adapter, EngineFacts, EngineState } from '../engine.ts'
import type { Principal } from '../principal.ts'

/** The number formats of cached keys and values. */
export const cacheTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'] as const
export type CacheType = (typeof cacheTypes)[number]

/** Drafting without a draft model, from the text so far; `off`: no draft model either. */
export const speculations = ['off', 'ngram-simple', 'ngram-mod'] as const
export type Speculation = (typeof speculations)[number]

/** Settings of one load. They replace those of the configuration; absent ones stay. */
export type LoadSettings = {
  readonly contextLength?: number
  readonly slots?: number
  readonly batchSize?: number
  readonly gpuLayers?: number | 'auto' | 'max'
  readonly flashAttention?: boolean
  readonly cacheTypeK?: CacheType
  readonly cacheTypeV?: CacheType
  /** The Jinja source of a chat template. */
  readonly chatTemplate?: string
  /** The name or the source of a model. */
  readonly draftModel?: string
  readonly speculation?: Speculation
  /** False: without a projector, though there is one; true: only with one. */
  readonly vision?: boolean
  /** All LoRA adapters that are applied. The name of one is that of an adapter of the configuration, or a source. */
  readonly adapters?: readonly Adapter[]
}

/** A model, by its name or by its source. */
export type ModelWanted = {
  readonly name: string
  /** The quantization of a repository's files; absent: the best that fits the memory. */
  readonly variant?: string
  /** Gives access to a repository. Used for this one download, and never kept. */
  readonly token?: string
}

/** Which files of a repository may be taken: those that one of `include` matches, and none of `exclude`. `*` and `?` are wildcards. */
export type FileFilter = { readonly include: readonly string[]; readonly exclude: readonly string[] }

/** At places `name`, `variant` and `settings.…` are what a failure is about. */
export type LoadRequest = ModelWanted & {
  readonly settings: LoadSettings
  /** The settings change those that the model is loaded with, instead of those of the configuration. */
  readonly keepsSettings?: true
  /** Load it again, even if it is loaded with these settings. */
  readonly reloads: boolean
  /** Requests that use the model now are cancelled; otherwise they are a `request-conflict`, or waited for. */
  readonly endsRequests: boolean
  /** Waits until no request uses the model. */
  readonly waits?: true
  /** Another name for a model that was not there. */
  readonly alias?: string
  /** The active model stays what it was, such as beside a model that embeds. */
  readonly isBeside?: true
  /** Of a protocol with one model: requests without a model are for it, whoever loads it. */
  readonly servesNameless?: true
}

/** What a load does: waits for other work on the model, fetches and checks its files, reads them into memory, and tries the model out. */
export type LoadPhase = 'waiting' | 'downloading' | 'verifying' | 'loading' | 'warming-up'

/** How far a load is; the bytes are those of the phase, and 0 where they are unknown. */
export type LoadProgress = {
  readonly phase: LoadPhase
  readonly doneBytes: number
  readonly totalBytes: number
  readonly fraction: number
}

/** A load that has not ended. */
export type LoadReport = LoadProgress & { readonly model: string; readonly owner: string }

/** A model as its operators see it. */
export type ModelReport = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  /** The kind of its engine: `llama`, `llama-server`, `remote`, `fake`; absent for one of the caller's. */
  readonly engine?: string
  readonly state: EngineState
  readonly facts: EngineFacts
  readonly slots: number
  /** The longest contexts that fit the memory, with its slots first, then with fewer; absent where they are not known. */
  readonly longestContexts?: readonly { readonly slots: number; readonly contextLength: number }[]
  /** Requests that use it, or wait for it. */
  readonly requests: number
  /** The settings that it is, or will be, loaded with. */
  readonly settings: LoadSettings
  /** The quantization in the name of its file. */
  readonly variant?: string
  /** The name of its file. */
  readonly file?: string
  /** Has a projector: it reads images. */
  readonly hasProjector: boolean
  /** A load made it: the configuration does not have it, and an unload removes it. */
  readonly isAdded?: true
}

export type LoadRun = {
  readonly principal: Principal
  /** Aborted to cancel the load, at any step. */
  readonly signal: AbortSignal
  onProgress?(progress: LoadProgress): void
}

/** What a wanted model is, before it is loaded. */
export type FoundModel = {
  readonly id: string
  /** Its file is a GGUF. */
  readonly isGguf: boolean
  readonly file?: string
  readonly variant?: string
  readonly hasProjector: boolean
  /** What is wanted is an adapter; the other facts are those of its model. */
  readonly isAdapter?: true
}

/** Loads and unloads models while the server runs. */
export interface Lifecycle {
  /**
   * Loads a model. `isNew`: false when it was loaded with the same settings. A load that fails or is cancelled leaves what was there,
   * unloaded. Rejects with `model-not-found`, `request-conflict`, `unsupported-field`, `model-unavailable` or the signal's reason.
   */
  load(request: LoadRequest, run: LoadRun): Promise<{ readonly model: ModelReport; readonly isNew: boolean }>
  /** Finds a model without loading or fetching it. Rejects as `load`. */
  find(wanted: ModelWanted, signal: AbortSignal): Promise<FoundModel>
  /**
   * Frees a model, by its name or by what its load called it; one that `load` added is gone then, others can be loaded again. Cancels
   * the caller's loads of it first. Resolves with its id. Rejects with `model-not-found`, and with `request-conflict` while requests use
   * it, or another caller loads it: `endsRequests` cancels the requests.
   */
  unload(name: string, options: { readonly endsRequests: boolean; readonly principal: Principal }): Promise<string>
  /**
   * Fetches the files of a model, or the best of those files of its repository that `files` lets through. Resolves with the path of the
   * model file. Rejects as `load`, and at `files`.
   */
  fetch(wanted: ModelWanted & { readonly files?: FileFilter }, run: Omit<LoadRun, 'principal'>): Promise<string>
  models(): readonly ModelReport[]
  /** The model that was loaded last, if it is loaded; otherwise one that is. */
  active(): ModelReport | undefined
  /**
   * The id of the model that the last load of an operator named, while it is loaded: requests without a model are for it. `embeds`: one that was
   * loaded to embed first.
   */
  chosen(wanted?: { readonly embeds: boolean }): string | undefined
  /** Loads that have not ended, the oldest first. */
  loads(): readonly LoadReport[]
}

import type { Adapter, EngineFacts, EngineState } from '../engine.ts'
import type { Principal } from '../principal.ts'

/** The number formats of cached keys and values. */
export const cacheTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'] as const
export type CacheType = (typeof cacheTypes)[number]

/** Drafting without a draft model: from the text so far, or by layers of the model; `off`: no drafting, even with a draft model. */
export const speculations = ['off', 'ngram-simple', 'ngram-mod', 'draft-mtp'] as const
export type Speculation = (typeof speculations)[number]

/** Settings of one load. They replace those of the configuration; absent ones keep it. */
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
  /** False: without a projector, even if there is one; true: only with one. */
  readonly vision?: boolean
  /** All LoRA adapters to apply. A name is that of a configured adapter, or a source. */
  readonly adapters?: readonly Adapter[]
}

/** A model, by its name or by its source. */
export type ModelWanted = {
  readonly name: string
  /** The quantization among a repository's files; absent: the best that fits the memory. */
  readonly variant?: string
  /** Gives access to a repository. Used for this one download, and never stored. */
  readonly token?: string
}

/** The files of a repository that may be taken: those that match a pattern of `include` but not of `exclude`. `*` and `?` are wildcards. */
export type FileFilter = { readonly include: readonly string[]; readonly exclude: readonly string[] }

/** Failures refer to it at `name`, `variant` and `settings.…`. */
export type LoadRequest = ModelWanted & {
  readonly settings: LoadSettings
  /** The settings change the ones that the model is loaded with, instead of the configured ones. */
  readonly keepsSettings?: true
  /** Loads the model again even if it is loaded with these settings. */
  readonly reloads: boolean
  /** Cancels requests that use the model; otherwise they cause a `request-conflict`, or are waited for. */
  readonly endsRequests: boolean
  /** Waits until no request uses the model. */
  readonly waits?: true
  /** Another name for a newly added model. */
  readonly alias?: string
  /** Leaves the active model unchanged, for example beside a model that embeds. */
  readonly isBeside?: true
  /** For a protocol with one model: requests without a model go to this one, no matter who loaded it. */
  readonly servesNameless?: true
}

/** The phases of a load: wait for other work on the model, fetch and check its files, read them into memory, and warm the model up. */
export type LoadPhase = 'waiting' | 'downloading' | 'verifying' | 'loading' | 'warming-up'

/** The progress of a load; the bytes are those of the phase, and 0 if unknown. */
export type LoadProgress = {
  readonly phase: LoadPhase
  readonly doneBytes: number
  readonly totalBytes: number
  readonly fraction: number
}

/** A load in progress. */
export type LoadReport = LoadProgress & { readonly model: string; readonly owner: string }

/** A model as its operators see it. */
export type ModelReport = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  /** The kind of its engine: `llama`, `llama-server`, `remote`, `fake`; absent for an engine of the library's user. */
  readonly engine?: string
  readonly state: EngineState
  readonly facts: EngineFacts
  readonly slots: number
  /** The longest contexts that fit the memory, first with its slots, then with fewer; absent if unknown. */
  readonly longestContexts?: readonly { readonly slots: number; readonly contextLength: number }[]
  /** Requests that use it or wait for it. */
  readonly requests: number
  /** The settings of its present or next load. */
  readonly settings: LoadSettings
  /** The quantization in the name of its file. */
  readonly variant?: string
  /** The name of its file. */
  readonly file?: string
  /** Added by a load: it is not in the configuration, and an unload removes it. */
  readonly isAdded?: true
}

export type LoadRun = {
  readonly principal: Principal
  /** Aborted to cancel the load, at any step. */
  readonly signal: AbortSignal
  onProgress?(progress: LoadProgress): void
}

/** The facts of a wanted model before it is loaded. */
export type FoundModel = {
  readonly id: string
  readonly isGguf: boolean
  readonly file?: string
  readonly variant?: string
  /** It will read images here. */
  readonly readsImages: boolean
  /** The wanted file is an adapter; the other facts are those of its model. */
  readonly isAdapter?: true
  /** The files of its repository that can be taken in its place, the best compromise of size and quality first. */
  readonly offers?: readonly OfferedFile[]
}

/** A file of a repository. */
export type OfferedFile = {
  readonly quantization: string
  readonly sizeBytes: number
  /** It leaves enough of the memory of this machine. */
  readonly fits: boolean
  /** The one that is taken unless another is named. */
  readonly isProposed: boolean
}

/** Loads and unloads models while the server runs. */
export interface Lifecycle {
  /**
   * Loads a model. `isNew`: false if it was already loaded with the same settings. A failed or cancelled load leaves the earlier model,
   * unloaded. Rejects with `model-not-found`, `request-conflict`, `unsupported-field`, `model-unavailable` or the signal's reason.
   */
  load(request: LoadRequest, run: LoadRun): Promise<{ readonly model: ModelReport; readonly isNew: boolean }>
  /** Finds a model without loading or fetching it. Rejects as `load`. */
  find(wanted: ModelWanted, signal: AbortSignal): Promise<FoundModel>
  /**
   * Frees a model, by its name or the name used to load it; one that `load` added is gone then, others can be loaded again. Cancels the
   * caller's loads of it first. Resolves with its id. Rejects with `model-not-found`, and with `request-conflict` while requests use it or
   * another caller loads it; `endsRequests` cancels the requests.
   */
  unload(name: string, options: { readonly endsRequests: boolean; readonly principal: Principal }): Promise<string>
  /**
   * Fetches the files of a model, or the best of its repository's files that `files` admits. Resolves with the path of the model file.
   * Rejects as `load`, and at `files`.
   */
  fetch(wanted: ModelWanted & { readonly files?: FileFilter }, run: Omit<LoadRun, 'principal'>): Promise<string>
  /**
   * Deletes the fetched file of a model, which is freed first as by `unload`; one of the configuration is fetched again by its next load.
   * Resolves with the freed bytes. Rejects as `unload`, and with `invalid-request` for a file that Dragoman did not fetch.
   */
  deleteFile(name: string, options: { readonly endsRequests: boolean; readonly principal: Principal }): Promise<number>
  /** Unloads a model that a load added, and deletes its file if it was fetched. Rejects as `unload`. */
  remove(name: string, principal: Principal): Promise<void>
  models(): readonly ModelReport[]
  /** The model that was loaded last, if it still is; otherwise another loaded one. */
  active(): ModelReport | undefined
  /**
   * The id of the model that the last load of an operator named, while it is loaded: requests without a model go to it. `embeds`: prefer
   * one that was loaded to embed.
   */
  chosen(wanted?: { readonly embeds: boolean }): string | undefined
  /** The loads in progress, the oldest first. */
  loads(): readonly LoadReport[]
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { fileReason } from '../canonical/failure-reason.ts'
import { limitsOf } from '../config/limits-schema.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { LoadedModel } from '../config/models.ts'
import type { LlamaModelConfig } from '../config/schema.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { MediaConverter } from '../contract/media-converter.ts'
import type { Resident } from '../contract/residency.ts'

import type { Scheduler } from '../contract/scheduler.ts'
import type { ServedModel } from '../contract/served-model.ts'
import type { FairSchedulerOptions } from '../core/schedule/fair-scheduler.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import type { LoadOptions } from '../engine/llama/channel/ipc.ts'
import { shortHash } from '../engine/llama/channel/short-hash.ts'
import { LlamaEngine } from '../engine/llama/engine.ts'
import type { DownloadProgress } from '../registry/fetch/download.ts'
import { ensureModelFile } from '../registry/fetch/fetch-model.ts'
import { requireReadableGguf } from '../registry/gguf/require-gguf.ts'
import type { Source } from '../registry/names/sources.ts'
import { createLlamaServer } from './create-llama-server-engine.ts'
import { createRemote } from './create-remote-engine.ts'
import { ensureLlamaPackage } from './llama-package.ts'
import { type FetchFile, locateAdapters, locateDraft } from './locate-files.ts'
import { type MemorySharing, serverNeed, workerNeed } from './memory-sharing.ts'

/** A model of this server, with its names and how it is loaded. */
export type RegisteredModel = ServedModel & {
  readonly aliases: readonly string[]
  readonly loadsAtStart: boolean
  /** Whether readiness needs it, where the configuration says. */
  readonly required: boolean | undefined
  /** A failed load may succeed later without a new start: its servers are elsewhere, or its engine is the caller's. */
  readonly mayRecover: boolean
  readonly createdAtMs: number
  /** The id of the model that serves this one's aliases until its file is available. */
  readonly standIn: string | undefined
  /** The file is being fetched, or fetching failed. */
  readonly isAwaitingFile: boolean
  /** What it was made from; absent for an engine of the caller's. */
  readonly config: LoadedModel | undefined
}

/** Receives progress of the start, such as for a terminal. */
export type StartObserver = {
  onDownload(model: string, progress: DownloadProgress): void
  onNote(model: string, note: string): void
  /** Fetching begins, because the model's file is not on this disk. */
  onFetch(model: string): void
}

/** Makes the scheduler of a model. */
export type CreateScheduler = (options: FairSchedulerOptions & { readonly id: string }) => Scheduler

type ModelFactory = {
  readonly home: string
  readonly log: Logger
  readonly observer: StartObserver
  readonly converter: MediaConverter
  readonly createScheduler: CreateScheduler
  readonly sharing: MemorySharing
  /** Of models without limits of their own. */
  readonly limits: LoadedConfig['limits']
}

/** Creates a configured model. Nothing is loaded yet. */
export function createModel(config: LoadedModel, factory: ModelFactory): RegisteredModel {
  const file: FileState = { isAwaited: false }
  const place: Place = { file, resident: undefined }
  const engine = createEngine(config, factory, place)
  const scheduler = factory.createScheduler({ id: config.id, slots: config.slots, maxQueued: config.maxQueued, engine })
  const resident = factory.sharing.add(config, engine)
  place.resident = resident
  return {
    id: config.id,
    aliases: config.aliases,
    loadsAtStart: config.load === 'start',
    required: config.required,
    mayRecover: config.engine === 'remote',
    createdAtMs: Date.now(),
    standIn: config.standIn,
    config,
    get isAwaitingFile() {
      return file.isAwaited
    },
    engine,
    limits: limitsOf(factory.limits, config.limits),
    scheduler: resident?.gate(scheduler) ?? scheduler,
    ...(resident !== undefined && { resident }),
  }
}

/** A model that runs on an engine of the caller's. */
export type OwnModel = {
  readonly id: string
  readonly aliases?: readonly string[]
  readonly engine: Engine
  /** Requests that run at once; 4 unless given. */
  readonly slots?: number
  /** Requests that may wait beside them; 64 unless given. */
  readonly maxQueued?: number
  /** When the model is loaded; with the first request unless given. */
  readonly load?: 'start' | 'demand'
}

/** Creates a model on a caller's own engine. */
export function registerOwnModel(
  model: OwnModel,
  { createScheduler, limits }: Pick<ModelFactory, 'createScheduler' | 'limits'>,
): RegisteredModel {
  const { id, aliases = [], engine, slots = 4, maxQueued = 64, load = 'demand' } = model
  return {
    id,
    aliases,
    engine,
    loadsAtStart: load === 'start',
    required: undefined,
    mayRecover: true,
    createdAtMs: Date.now(),
    standIn: undefined,
    isAwaitingFile: false,
    config: undefined,
    limits: limitsOf(limits),
    scheduler: createScheduler({ id, slots, maxQueued, engine }),
  }
}

type FileState = { isAwaited: boolean }

/** What the engine of a model finds out while it loads, and whom it asks. */
type Place = { readonly file: FileState; resident: Resident | undefined }

function createEngine(config: LoadedModel, factory: ModelFactory, place: Place): Engine {
  switch (config.engine) {
    case 'llama':
      return new LlamaEngine({
        id: config.id,
        locate: (signal) => locate(config, factory, { signal, ...place }),
        log: factory.log,
        adapters: (config.adapters ?? []).map(({ name, scale }) => ({ name, scale })),
        constrainsAllTools: config.toolStrategy === 'two-pass',
        ...(config.defaults !== undefined && { sampling: config.defaults }),
      })
    case 'llama-server':
      return createLlamaServer(config, {
        log: factory.log,
        converter: factory.converter,
        fetchFile: (sources, { signal, sha256 }) =>
          fetchFile({ id: config.id, source: sources, sha256 }, factory, { signal, file: place.file }),
        reserve: async (plan, signal) => place.resident?.reserve(await serverNeed(plan), signal),
      })
    case 'remote':
      return createRemote(config, factory)
    case 'fake':
      return createFakeEngine(config)
  }
}

/** The path of the model file, fetched if necessary, and its load options. */
async function locate(config: LlamaModelConfig, factory: ModelFactory, attempt: FetchAttempt & Place): Promise<LoadOptions> {
  const {
    id,
    source,
    sha256,
    slots,
    flashAttention,
    cacheTypeK,
    cacheTypeV,
    speculation,
    draft,
    prefixCache,
    contextLength,
    threads,
    batchSize,
    stopWithinMs,
    gpuLayers,
    chatTemplate,
    toolFormat,
  } = config
  const fetch: FetchFile = (sources) => fetchFile({ id, source: sources }, factory, attempt)
  const modelPath = await fetchFile({ id, source, sha256 }, factory, attempt)
  const adapters = await locateAdapters(config.adapters ?? [], fetch)
  const located = draft === undefined ? {} : { draft: await locateDraft(draft, fetch) }
  const files = { modelPath, draftPath: located.draft?.modelPath, otherPaths: adapters.map(({ path }) => path) }
  for (const path of [modelPath, files.draftPath, ...files.otherPaths]) if (path !== undefined) await requireReadableGguf(path)
  const onNote = (note: string) => factory.observer.onNote(id, note)
  const enginePath = await ensureLlamaPackage({ home: factory.home, signal: attempt.signal, onNote })
  await attempt.resident?.reserve(await workerNeed(config, files), attempt.signal)
  return {
    modelPath,
    ...(enginePath !== undefined && { enginePath }),
    slots,
    flashAttention,
    ...(speculation !== undefined && { speculation }),
    ...located,
    ...(prefixCache !== undefined && { prefixCache: { ...prefixCache, folder: prefixFolder(factory.home, id) } }),
    ...(adapters.length > 0 && { adapters }),
    ...(contextLength !== undefined && { contextLength }),
    ...(threads !== undefined && { threads }),
    ...(batchSize !== undefined && { batchSize }),
    stopWithinMs,
    ...(gpuLayers !== undefined && { gpuLayers }),
    ...(cacheTypeK !== undefined && { cacheTypeK }),
    ...(cacheTypeV !== undefined && { cacheTypeV }),
    ...(toolFormat !== undefined && { toolFormat }),
    ...(chatTemplate !== undefined && { chatTemplate: await readTemplate(chatTemplate) }),
  }
}

/** Ids may have characters that names of folders cannot. */
function prefixFolder(home: string, id: string): string {
  return join(home, 'prefix-cache', shortHash(id))
}

async function readTemplate(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const message = `its chatTemplate '${path}' cannot be read: ${fileReason(error)}`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

type FetchAttempt = { readonly signal: AbortSignal; readonly file: FileState }
type WantedFile = { readonly id: string; readonly source: readonly Source[]; readonly sha256?: string | undefined }

/** The path of a model's file, fetched if necessary. */
async function fetchFile(
  { id, source, sha256 }: WantedFile,
  { home, observer }: ModelFactory,
  { signal, file }: FetchAttempt,
): Promise<string> {
  const path = await ensureModelFile(source, {
    home,
    signal,
    ...(sha256 !== undefined && { sha256 }),
    onFetch: () => {
      file.isAwaited = true
      observer.onFetch(id)
    },
    onProgress: (progress) => observer.onDownload(id, progress),
    onNote: (note) => observer.onNote(id, note),
  })
  file.isAwaited = false
  return path
}

import type { Logger } from 'pino'
import { given } from '../../base/json.ts'
import { versionsOf } from '../../config/entries.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import type { RemoteModelConfig } from '../../config/schema.ts'
import { chatDefaultsOf } from '../../config/sections/chat-schema.ts'
import { limitsOf } from '../../config/sections/limits-schema.ts'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { Engine } from '../../contract/engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { TemplateStore } from '../../contract/template.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { fetchFiles, type ModelWithFiles } from '../../lifecycle/fetch-files.ts'
import type { DownloadProgress } from '../../registry/fetch/download.ts'
import type { CreateScheduler } from '../keys/key-limits.ts'
import type { Drains } from '../sharing/drains.ts'
import type { SharedChecks } from '../sharing/shared-checks.ts'
import type { SharedEjections } from '../sharing/shared-ejections.ts'
import type { SharedSlots } from '../sharing/shared-slots.ts'
import { createFileEngine } from './create-file-engine.ts'
import type { LocateFiles } from './create-llama-engine.ts'
import { createRemote } from './create-remote-engine.ts'
import type { MemorySharing } from './memory/memory-sharing.ts'
import type { Senses } from './senses/senses.ts'
import { findTemplateByName, type TemplateFiles } from './templates/template-by-name.ts'
import { warnOfUnusedDefaults } from './unused-chat-defaults.ts'

/** A model of this server, with its names and how it is loaded. */
export type Registered = ServedModel & {
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
  readonly config: ConfiguredModel | undefined
  /** Checks other endpoints of a remote model; the function that it returns makes the engine use them. */
  readonly follow?: (config: RemoteModelConfig) => () => void
}

/** Receives progress of the start, such as for a terminal. */
export type StartObserver = {
  onDownload(model: string, progress: DownloadProgress): void
  onNote(model: string, note: string): void
  /** Fetching begins, because the model's file is not on this disk. */
  onFetch(model: string): void
}

type ModelFactory = {
  readonly home: string
  readonly log: Logger
  readonly observer: StartObserver
  readonly converter: MediaConverter
  readonly createScheduler: CreateScheduler
  readonly sharing: MemorySharing
  readonly drains: Drains
  readonly checks: SharedChecks
  readonly ejections: SharedEjections
  readonly serverShares: Pick<SharedSlots, 'of'>
  readonly templates: Pick<TemplateStore, 'read'> & TemplateFiles
  readonly senses: Senses
  /** Names sessions to routers. */
  hash(text: string): string
  /** Receives the reports about the servers of a remote model. */
  fleetObserver(model: string): FleetObserver
  /** For models without limits of their own. */
  readonly limits: LoadedConfig['limits']
}

/** Creates a configured model. Nothing is loaded yet. */
export function createModel(config: ConfiguredModel, factory: ModelFactory): Registered {
  const { id, aliases, load, required, standIn, slots, maxQueued } = config
  const waits = { file: false }
  const { engine, follow } = createEngine(config, factory, waits)
  const scheduler = factory.createScheduler({ id, slots, maxQueued, engine, share: factory.serverShares.of(id) })
  const resident = factory.sharing.add(config, engine)
  warnOfUnusedDefaults({ id, chat: chatDefaultsOf(config.chat), engine }, factory.log)
  return {
    id,
    aliases,
    loadsAtStart: load === 'start',
    required,
    mayRecover: config.engine === 'remote',
    createdAtMs: Date.now(),
    standIn,
    config,
    get isAwaitingFile() {
      return waits.file
    },
    engine,
    ...given({ follow, resident }),
    limits: limitsOf(factory.limits, config.limits),
    ...othersOf(config),
    scheduler: resident?.gate(scheduler) ?? scheduler,
  }
}

/** What may change while a model stays loaded: how conversations are rendered, and the other models that serve its requests or get copies. */
export function othersOf(config: ConfiguredModel): Pick<ServedModel, 'chat' | 'fallback' | 'versions' | 'mirror'> {
  const { fallback, mirror } = config
  const versions = versionsOf(config)
  const chat = chatDefaultsOf(config.chat)
  return {
    ...given({ chat, fallback, versions, mirror }),
  }
}

/** A model that runs on an engine of the caller's. */
export type OwnModel = {
  readonly id: string
  readonly aliases?: readonly string[]
  readonly engine: Engine
  /** The number of parallel requests. 4 by default. */
  readonly slots?: number
  /** Requests that may wait beside them; 64 unless given. */
  readonly maxQueued?: number
  /** When the model is loaded; with the first request unless given. */
  readonly load?: 'start' | 'demand'
  /** Names of models that serve in its place when it cannot. */
  readonly fallback?: readonly string[]
}

export function registerOwnModel(
  model: OwnModel,
  { createScheduler, limits }: Pick<ModelFactory, 'createScheduler' | 'limits'>,
): Registered {
  const { id, aliases = [], engine, slots = 4, maxQueued = 64, load = 'demand', fallback } = model
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
    ...(fallback !== undefined && { fallback }),
    scheduler: createScheduler({ id, slots, maxQueued, engine }),
  }
}

/** Finds or fetches the files of a model, whose alias others answer to meanwhile. */
function filesOf(
  config: ConfiguredModel & ModelWithFiles,
  { home, observer }: ModelFactory,
  waits: { file: boolean },
): LocateFiles {
  const { id } = config
  return async (signal) => {
    const files = await fetchFiles(config, {
      home,
      signal,
      onFetch: () => {
        waits.file = true
        observer.onFetch(id)
      },
      onProgress: (progress) => observer.onDownload(id, progress),
      onNote: (note) => observer.onNote(id, note),
    })
    waits.file = false
    return files
  }
}

function createEngine(
  config: ConfiguredModel,
  factory: ModelFactory,
  waits: { file: boolean },
): Pick<Registered, 'engine' | 'follow'> {
  const findTemplate = () => findTemplateByName(config, factory)
  switch (config.engine) {
    case 'llama':
    case 'llama-server':
      return { engine: createFileEngine(config, { ...factory, findTemplate, locateFiles: filesOf(config, factory, waits) }) }
    case 'remote':
      return createRemote(config, { ...factory, findTemplate, observer: factory.fleetObserver(config.id) })
    case 'fake':
      return { engine: createFakeEngine({ ...config, findTemplate }) }
  }
}

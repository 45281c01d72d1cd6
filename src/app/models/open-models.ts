import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { Models, Operating } from '../../http/run/deps.ts'
import { LifecycleService } from '../../lifecycle/service.ts'
import type { CreateScheduler } from '../keys/key-limits.ts'
import { Drains } from '../sharing/drains.ts'
import { SharedChecks } from '../sharing/shared-checks.ts'
import { SharedEjections } from '../sharing/shared-ejections.ts'
import type { SharedSlots } from '../sharing/shared-slots.ts'
import type { State } from '../state/open-state.ts'
import { openCatalogue } from './catalogue.ts'
import { choiceOf } from './create-file-engine.ts'
import { createModel, type OwnModel, registerOwnModel } from './create-model.ts'
import { createDeviceMemory } from './device-memory.ts'
import { findLlamaServer } from './find-llama-server.ts'
import type { MemorySharing } from './memory/memory-sharing.ts'
import { createModelFiles } from './model-files.ts'
import type { ModelSet } from './model-set.ts'
import { findSenses } from './senses/library.ts'

type Surroundings = {
  readonly log: Logger
  /** Empty: it gets the models of the configuration, of its folder, and of the servers that list them. */
  readonly models: ModelSet
  readonly sharing: MemorySharing
  readonly state: Pick<State, 'live' | 'hash' | 'siblings' | 'everyone'>
  readonly converter: MediaConverter
  readonly own: readonly OwnModel[]
  readonly createScheduler: CreateScheduler
  readonly serverShares: Pick<SharedSlots, 'of'>
  fleetObserver(model: string): FleetObserver
  endRequests(model: string): void
}

/** Creates the models, and finds those of folders and servers. Nothing is loaded yet. */
export function openModels(config: LoadedConfig, surroundings: Surroundings) {
  const { log, models, sharing, state, own, endRequests, ...given } = surroundings
  const { home } = config
  const { live, hash, siblings, everyone } = state
  const drains = new Drains()
  const checks = new SharedChecks(siblings)
  const ejections = new SharedEjections(everyone)
  const senses = { findLibrary: findSenses, findServer: () => findLlamaServer(config.models, { home }) }
  const factory = {
    ...given,
    home,
    log,
    hash,
    sharing,
    drains,
    checks,
    ejections,
    templates: live.templates,
    senses,
    observer: models.observer,
    get limits() {
      return live.current.limits
    },
  }
  void models.change(() => [
    ...own.map((model) => registerOwnModel(model, factory)),
    ...config.models.map((model) => createModel(model, factory)),
  ])
  const create = (model: ConfiguredModel) => createModel(model, factory)
  const catalogue = openCatalogue(config, { models, log, create })
  const lifecycle = new LifecycleService({
    models,
    refresh: () => catalogue.lookInFolder(),
    create,
    endRequests,
    home,
    describeMedia: (model, asked) => choiceOf(model, { home, senses }, asked),
  })
  return {
    drains,
    catalogue,
    /** Takes the models of another configuration; throws, without a change, for those that cannot be. */
    replace(before: LoadedConfig, after: LoadedConfig): void {
      const createNext = (model: ConfiguredModel) => createModel(model, { ...factory, limits: after.limits })
      catalogue.change({ before, after, create: createNext })
    },
    forRoutes: {
      models: catalogue,
      modelFiles: createModelFiles({ models, home, sharing }),
      // What one process loads, the others would not have.
      ...(siblings === undefined && { lifecycle }),
      memory: () => sharing.residency.memory(),
      devices: createDeviceMemory({
        engines: () => models.all().map(({ engine }) => engine),
        now: () => performance.now(),
        patience: () => AbortSignal.timeout(500),
      }),
    } satisfies Models & Operating,
    async close() {
      sharing.close()
      await catalogue.close()
    },
  }
}

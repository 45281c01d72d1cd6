import type { Logger } from 'pino'
import { given } from '../base/json.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { GenerationRequests } from '../contract/request.ts'
import type { ModelSummary } from '../contract/server/catalogue.ts'
import type { Primary } from '../contract/server/shared.ts'
import type { Generation } from '../core/generate.ts'
import type { Listening } from '../http/run/deps.ts'
import { openBatches } from './generating/batches.ts'
import { createInProcess } from './generating/in-process.ts'
import { createConfiguredConverter } from './generating/media.ts'
import { openGenerating } from './generating/open-generating.ts'
import { joinOthers } from './join-others.ts'
import { createKeyLimiting, warnOfUnknownModels } from './keys/key-limits.ts'
import type { OwnModel, StartObserver } from './models/create-model.ts'
import { shareMemory } from './models/memory/memory-sharing.ts'
import { ModelSet } from './models/model-set.ts'
import { openModels } from './models/open-models.ts'
import { createFindOffers } from './offers/find-offers.ts'
import { thisMachine } from './offers/this-machine.ts'
import { answerFetch } from './serving/answer-fetch.ts'
import { createNodeHandler, type NodeHandler } from './serving/node-handler.ts'
import { openServing } from './serving/open-serving.ts'
import { Presence } from './sharing/presence.ts'
import { SharedSlots } from './sharing/shared-slots.ts'
import { openState } from './state/open-state.ts'
import { version } from './version.ts'
import { openWatching } from './watching/open-watching.ts'

/** The whole server, from a configuration. */
export type App = {
  /** Accepts connections, and begins to load the models that load at start. Resolves with the address. */
  listen(): Promise<string>
  /** Begins to load the models that load at start, without a listener. Idempotent. */
  load(): void
  /** Answers a request without a socket, below `basePath`, such as `/api`; aborting its signal is the client leaving. */
  fetch(request: Request, basePath?: string): Promise<Response>
  /** Answers requests of another server of Node.js, whose path is below `basePath` (`''`: any). */
  handlerBelow(basePath: string): NodeHandler
  /** Generates in process, the same way as over HTTP. Throws `model-not-found`, and `shutting-down` after `close`. */
  generate(requests: GenerationRequests, signal?: AbortSignal): Generation
  /** Resolves when all models that load at start are ready; rejects with the first failure. */
  whenReady(): Promise<void>
  /** Resolves when those models are ready or have failed. Rejects with the reasons when nothing is left to serve. */
  whenSettled(): Promise<void>
  /**
   * Takes another configuration, without an effect on requests that run; the log names settings that need a restart. Rejects, without a
   * change, for models or presets that cannot be.
   */
  reconfigure(config: LoadedConfig): Promise<void>
  /** Finishes running requests within the configured grace period, then closes everything. */
  close(): Promise<void>
  /** The key created because this server is reachable from elsewhere and had none; shown only once. */
  readonly createdKey: string | undefined
  /** Clients must send a key. */
  readonly requiresKey: boolean
  readonly models: readonly ModelSummary[]
}

/** Parts in addition to those of the configuration. */
type AppParts = {
  readonly models?: readonly OwnModel[]
  readonly dialects?: Listening['dialects']
}

type AppOptions = {
  readonly log: Logger
  readonly observer?: StartObserver
  readonly parts?: AppParts
  /** Called with a key that had to be made; it is shown only once. */
  readonly onKey?: (key: string) => void
  /** The process that has started this one and others; absent: this server has one process. */
  readonly primary?: Primary
}

const noObserver: StartObserver = { onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined }

/** The composition root: the only place that knows every layer. */
export async function createApp(
  config: LoadedConfig,
  { log, observer = noObserver, parts = {}, onKey = () => undefined, primary }: AppOptions,
): Promise<App> {
  const state = await openState(config, { log, primary })
  const { live, store, usage, siblings, everyone } = state
  const set = new ModelSet(observer)
  const sharing = shareMemory(config, log)
  const watching = await openWatching(config, { log, version, models: set, sharing, state, primary })
  const { cancellations } = watching.forRoutes
  const presence = new Presence(everyone)
  const serverShares = new SharedSlots(everyone)
  const {
    createScheduler,
    close: closeLimits,
    ...limits
  } = createKeyLimiting({
    // A file is asked for what must outlive the process only.
    shared: everyone?.usage,
    kept: store?.usage,
    processes: () => presence.processes,
    log,
    onGranted: watching.metrics.slotGranted,
  })
  const converter = createConfiguredConverter(config)
  const models = openModels(config, {
    log,
    models: set,
    sharing,
    state,
    converter,
    own: parts.models ?? [],
    createScheduler,
    serverShares,
    fleetObserver: watching.metrics.fleetObserver,
    endRequests: (model) => void cancellations.cancelWhere({ model }, 'unloaded'),
  })
  const { catalogue } = models
  const { admitsToolCall } = limits
  const generating = await openGenerating(config, { log, models: set, state, watching, admitsToolCall })
  const inProcess = createInProcess({ cancellations, generating: generating.forRoutes, models: catalogue })
  let isListening = false
  const choices = await joinOthers({ log, state, set, models, isListening: () => isListening })
  const { files } = generating.forRoutes
  const batches = openBatches(config, {
    log,
    live,
    store,
    files,
    models: catalogue,
    metrics: watching.metrics,
    serverShares,
    server: () => serving.server,
  })
  const serving = openServing(config, {
    ...generating.forRoutes,
    ...models.forRoutes,
    ...watching.forRoutes,
    ...limits,
    ...live.access,
    keys: live.keys,
    ...(config.media.ffmpeg !== undefined && { recordings: converter }),
    ...given({ batches, usage, choices, everyone, dialects: parts.dialects }),
    ...(siblings === undefined
      ? {
          findOffers: createFindOffers({
            machine: () => thisMachine(config.home),
            env: process.env,
            now: () => performance.now(),
          }),
        }
      : { siblings }),
    heartbeatMs: () => live.current.server.heartbeatMs,
    version,
  })
  /** Names that no model has; those of servers are known when they have listed them. */
  const checkKeys = async () => {
    await catalogue.refresh()
    if (catalogue.known === 'all') warnOfUnknownModels(live.access.auth.apiKeys, catalogue, log)
  }
  const begin = () => {
    set.load()
    batches?.start()
    void checkKeys()
  }
  let createdKey: string | undefined
  return {
    get createdKey() {
      return createdKey
    },
    get requiresKey() {
      return live.requiresKey
    },
    get models() {
      return set.summaries({})
    },
    async listen() {
      const url = await serving.listen(log)
      // With several processes, the primary creates the key.
      if (primary === undefined) createdKey = await live.ensureKey()
      if (createdKey !== undefined) onKey(createdKey)
      begin()
      isListening = true
      return url
    },
    load: begin,
    fetch: (request, basePath = '') => answerFetch(serving.server, request, basePath),
    handlerBelow: (basePath) => createNodeHandler(serving.server, basePath),
    generate: inProcess.generate,
    whenReady: () => catalogue.whenReady(),
    whenSettled: () => catalogue.whenSettled(),
    async reconfigure(next) {
      live.change(next, (before) => models.replace(before, next))
      serving.server.setAccess(live.access)
      sharing.change(next.memory)
      void checkKeys()
    },
    async close() {
      const { server } = live.current
      // Their lines are requests: they go back to the store before these are ended.
      await batches?.close()
      await Promise.all([serving.close(server), inProcess.close(server.shutdownGraceMs)])
      await Promise.all([models.close(), generating.close()])
      await Promise.all([closeLimits(), presence.close()])
      // Closed last: the parts above may still write to them.
      await Promise.all([state.close(), watching.close()])
    },
  }
}

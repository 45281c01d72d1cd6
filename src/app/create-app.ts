import type { Logger } from 'pino'
import { ActivityLog, stopOf } from '../activity/activity-log.ts'
import { ServerActivity } from '../activity/server-activity.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ConfiguredModel } from '../config/models.ts'
import { messageOf } from '../contract/errors.ts'
import type { ModelViewer } from '../contract/principal.ts'
import type { DrainChange, PresetChoice, Siblings } from '../contract/server/siblings.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { Cancellations } from '../core/cancel/cancellations.ts'
import type { Generation, generate } from '../core/generate.ts'
import type { Fallback } from '../core/other-models/other-models.ts'
import { PrefixMemory } from '../core/prefix/prefix-memory.ts'
import type { ToolCallRecord } from '../core/tool-loop/deps.ts'
import { ToolApprovals } from '../core/tool-loop/tool-approvals.ts'
import { Repeats } from '../http/repeats/repeats.ts'
import type { ModelDirectory, ModelSummary, ServerDeps } from '../http/run/deps.ts'
import { isReady } from '../http/run/readiness.ts'
import { createServer } from '../http/server.ts'
import { LifecycleService } from '../lifecycle/service.ts'
import { OutputValidator } from '../threads/output-validator.ts'
import { createInProcess } from './generating/in-process.ts'
import { createConfiguredConverter, createConfiguredMedia } from './generating/media.ts'
import { createConfiguredTools } from './generating/tools.ts'
import { createKeyLimiting, warnOfUnknownModels } from './keys/key-limits.ts'
import { openMadeKeys } from './keys/open-made-keys.ts'
import { createSealer, createSessionHash, warnOfUnsharedSeals } from './keys/sealer.ts'
import { UsageLog } from './keys/usage-log.ts'
import { openCaptureFolder } from './log/capture-folder.ts'
import { createStopLog } from './log/log.ts'
import { linesOf } from './log/log-lines.ts'
import { createToolLog } from './log/tool-log.ts'
import { openConfiguredTracing } from './log/tracing.ts'
import { createMetrics } from './metrics/metrics.ts'
import { loadOf } from './metrics/model-metrics.ts'
import { createModel, type OwnModel, registerOwnModel, type StartObserver } from './models/create-model.ts'
import { createDeviceMemory } from './models/device-memory.ts'
import { Drains } from './models/drains.ts'
import { findLlamaServer } from './models/find-llama-server.ts'
import { openModelsFolder } from './models/folder-models.ts'
import { LoadTimes } from './models/load-times.ts'
import { shareMemory } from './models/memory-sharing.ts'
import { createModelFiles } from './models/model-files.ts'
import { ModelListings } from './models/model-listings.ts'
import { ModelSet } from './models/model-set.ts'
import { isListed } from './models/place-listed.ts'
import { replaceModels } from './models/replace-models.ts'
import { SharedChecks } from './models/shared-checks.ts'
import { answerFetch } from './serving/answer-fetch.ts'
import { listen } from './serving/listen.ts'
import { createNodeHandler, type NodeHandler } from './serving/node-handler.ts'
import { openPageFiles } from './serving/page-files.ts'
import { listenToo } from './serving/second-port.ts'
import { openConfiguredStore } from './state/configured-store.ts'
import { LiveConfig } from './state/live-config.ts'
import { SharedChoices } from './state/shared-choices.ts'
import { version } from './version.ts'
import { sampleLoad } from './watching/load-sampler.ts'

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
  /** Generates in process, the same way as over HTTP. Throws `model-not-found`. */
  generate(requests: Parameters<typeof generate>[1], signal?: AbortSignal): Generation
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
  readonly dialects?: ServerDeps['dialects']
}

type AppOptions = {
  readonly log: Logger
  readonly observer?: StartObserver
  readonly parts?: AppParts
  /** Called with a key that had to be made; it is shown only once. */
  readonly onKey?: (key: string) => void
  /** The other processes of this server; absent: there is one. */
  readonly siblings?: Siblings
  /** What the operator has chosen since the first of these processes started. */
  readonly preset?: PresetChoice
  /** The servers that it has taken out of use since then. */
  readonly drains?: readonly DrainChange[]
}

const noObserver: StartObserver = { onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined }

/** The composition root: the only place that knows every layer. */
export async function createApp(
  config: LoadedConfig,
  { log, observer = noObserver, parts = {}, onKey = () => undefined, siblings, preset, drains: drained }: AppOptions,
): Promise<App> {
  const { server: settings, home } = config
  let createdKey: string | undefined
  const store = await openConfiguredStore(config, log)
  const live = LiveConfig.open(config, await openMadeKeys({ home, documents: store?.documents, notes: log }), log)
  // The configuration may have lost it since.
  if (preset !== undefined && (preset.type !== 'named' || live.presets.names.includes(preset.name))) live.presets.choose(preset)
  if (store?.documents !== undefined) warnOfUnsharedSeals(log)
  const models = new ModelSet(observer)
  const loadTimes = new LoadTimes({ now: () => performance.now() })
  models.onChange(() => {
    for (const { engine } of models.all()) loadTimes.watch(engine)
  })
  const traces = openConfiguredTracing({ log, version, env: process.env })
  const metrics = createMetrics({
    readLoad: () =>
      models
        .all()
        // A server may list hundreds that nobody uses.
        .filter((model) => !isListed(model) || model.engine.state.type !== 'stopped')
        .map((model) => ({ ...loadOf(model), loadSeconds: loadTimes.secondsOf(model.engine) })),
    readSpans: traces?.counts,
    dialects: config.metrics.dialects,
    version,
  })
  const { createScheduler, readLimits, readBudgets, admitsToolCall } = createKeyLimiting({
    // A file is asked for what must outlive the process only.
    shared: store?.documents === undefined ? siblings?.usage : store.usage,
    kept: store?.usage,
    log,
    onGranted: metrics.slotGranted,
  })
  const usage =
    store &&
    new UsageLog({
      days: store.usageDays,
      now: Date.now,
      onFailure: (error) => log.warn({ reason: messageOf(error) }, 'the use of keys could not be written; it is written later'),
    })
  const sharing = shareMemory(config, log)
  const converter = createConfiguredConverter(config)
  const drains = new Drains(drained)
  const checks = new SharedChecks(siblings?.tellPassed)
  const factory = {
    home,
    drains,
    checks,
    templates: live.templates,
    log,
    observer: models.observer,
    createScheduler,
    sharing,
    converter,
    hash: await createSessionHash({ home }),
    fleetObserver: metrics.fleetObserver,
    get limits() {
      return live.current.limits
    },
  }
  void models.change(() => [
    ...(parts.models ?? []).map((model) => registerOwnModel(model, factory)),
    ...config.models.map((model) => createModel(model, factory)),
  ])
  const create = (model: ConfiguredModel) => createModel(model, factory)
  const llamaServer = findLlamaServer(config.models)
  const folder = openModelsFolder(config, { models, log, create, llamaServer })
  const listings = new ModelListings(config.listings, { models, log, create })
  const resolveModel = (name: string, viewer: ModelViewer) => folder.find(() => models.resolve(name, viewer))
  const findModel = (name: string, viewer: ModelViewer) => listings.find(name, () => resolveModel(name, viewer))
  const validator = new OutputValidator()
  const { media, files } = createConfiguredMedia(config, store?.files)
  const { tools, pictures } = await createConfiguredTools(config, log)
  const logTool = createToolLog(log)
  const approvals = new ToolApprovals()
  const generating = {
    now: () => performance.now(),
    validator,
    presets: live.presets,
    templates: live.templates,
    media,
    tools,
    others: {
      find: (name: string, viewer: ModelViewer) => models.find(name, viewer),
      onFallback: (fallback: Fallback) => {
        metrics.fellBack(fallback)
        const { id, model, servedBy, error } = fallback
        const why = { reason: error.message, code: error.code, ...(error.code === 'internal' && { err: error.cause }) }
        log.warn({ id, model, servedBy, ...why }, 'another model serves a request')
      },
    },
    prefixes: new PrefixMemory({ onDiverged: metrics.promptDiverged }),
    record: (record: GenerationRecord) => {
      metrics.generationEnded(record)
      usage?.note(record)
    },
    approvals,
    admitsToolCall,
    onToolCall: (call: ToolCallRecord) => {
      metrics.toolCalled(call)
      logTool(call)
    },
    shortensOutput: settings.shortenOutput,
  }
  const activity = new ActivityLog({
    epoch: Date.now,
    run: `${process.pid.toString(36)}x${Date.now().toString(36)}`,
    onRead: (read) => usage?.note(read),
  })
  const load = sampleLoad(activity, () => sharing.residency.memory())
  const logStop = createStopLog(log)
  const cancellations = new Cancellations({
    onCancel: metrics.requestCancelled,
    onStopped: (run) => {
      logStop(run)
      activity.stopped(run.id, stopOf(run))
    },
    onClosed: (id) => activity.closed(id),
  })
  await store?.cancels?.listen((cancel) => void cancellations.cancelRequested(cancel))
  const directory: ModelDirectory = {
    list: (viewer) => {
      folder.refresh()
      return models.summaries(viewer)
    },
    get: (name, viewer) => folder.find(() => models.summary(name, viewer)),
    find: (name, viewer) => listings.find(name, () => folder.find(() => models.summary(name, viewer))),
    refresh: () => listings.refresh(),
    get isUnknown() {
      return listings.known === 'none'
    },
  }
  let isListening = false
  siblings?.join({
    cancel: (cancel) => cancellations.cancelRequested(cancel),
    decide: (decision) => approvals.decide(decision),
    // Before it listens, it gets no requests.
    isReady: () => !isListening || isReady(directory.list({}), directory.isUnknown),
    readMetrics: metrics.read,
    usePreset: (choice) => live.presets.choose(choice),
    drain: (change) => drains.note(change),
    notePassed: (passed) => checks.hear(passed),
    readActivity: (question) => activity.read(question),
    findRequest: (id, owner) => activity.find(id, owner),
  })
  const choices =
    store?.documents &&
    (await SharedChoices.open({
      documents: store.documents,
      presets: live.presets,
      configuredPreset: () => live.current.sampling.preset,
      engines: () => models.all(),
      log,
    }))
  models.onChange(() => choices?.watchModels())
  const lifecycle = new LifecycleService({
    models,
    refresh: () => folder.refresh(),
    create,
    endRequests: (model) => void cancellations.cancelWhere({ model }, 'unloaded'),
    home,
    llamaServer,
  })
  /** Names that no model has; those of servers are known when they have listed them. */
  const checkKeys = async () => {
    await listings.refresh()
    if (listings.known === 'all') warnOfUnknownModels(live.access.auth.apiKeys, directory, log)
  }
  const begin = () => {
    models.load()
    void checkKeys()
  }
  const { captureFolder } = config.log
  const lines = linesOf(log)
  const captures = captureFolder === undefined ? undefined : openCaptureFolder(captureFolder, log)
  const page = settings.page === 'on' ? openPageFiles() : undefined
  const server = createServer({
    ...generating,
    resolveModel,
    findModel,
    ...(parts.dialects !== undefined && { dialects: parts.dialects }),
    ...(choices !== undefined && { choices }),
    models: directory,
    modelFiles: createModelFiles({ models, home, sharing }),
    // What one process loads, the others would not have.
    ...(siblings === undefined && { lifecycle }),
    cancellations,
    activity: new ServerActivity(activity, siblings),
    history: load.history,
    ...(lines !== undefined && { lines }),
    keys: live.keys,
    memory: () => sharing.residency.memory(),
    devices: createDeviceMemory({
      engines: () => models.all().map(({ engine }) => engine),
      now: () => performance.now(),
      patience: () => AbortSignal.timeout(500),
    }),
    sealerOf: await createSealer({ home, log }),
    ...(store !== undefined && { store, keepsCompletions: config.storage.chatCompletions === 'all' }),
    ...(files !== undefined && { files }),
    ...(pictures !== undefined && { pictures }),
    ...(siblings !== undefined && { siblings }),
    ...(traces !== undefined && { tracing: traces.tracing }),
    readLimits,
    readBudgets,
    ...(usage !== undefined && { usage }),
    ...live.access,
    reasoningFields: settings.reasoningFields,
    usageTimes: settings.usageTimes,
    basePath: settings.basePath,
    debugs: settings.debug === 'on',
    ...(page !== undefined && { page }),
    streaming: settings.streaming,
    heartbeatMs: () => live.current.server.heartbeatMs,
    ...(settings.retryGraceMs > 0 && { repeats: new Repeats({ graceMs: settings.retryGraceMs }) }),
    bodyLimitBytes: settings.bodyLimitBytes,
    totalBodyLimitBytes: settings.totalBodyLimitBytes,
    ...(captures !== undefined && { capture: captures.keep, captures }),
    log,
    metrics: siblings === undefined ? metrics : { ...metrics, render: () => siblings.renderMetrics() },
    version,
  })
  let closeSecond: () => void = () => undefined
  return {
    get createdKey() {
      return createdKey
    },
    get requiresKey() {
      return live.requiresKey
    },
    get models() {
      return models.summaries({})
    },
    async listen() {
      const url = await listen(server.app, settings, log)
      const { host, ollamaPort: port } = settings
      if (port !== undefined) closeSecond = await listenToo(server.app.server, { host, port, setting: 'server.ollamaPort' })
      // Of several processes, the primary makes it.
      if (siblings === undefined) createdKey = await live.ensureKey()
      if (createdKey !== undefined) onKey(createdKey)
      begin()
      isListening = true
      return url + settings.basePath
    },
    load: begin,
    fetch: (request, basePath = '') => answerFetch(server, request, basePath),
    handlerBelow: (basePath) => createNodeHandler(server, basePath),
    generate: createInProcess({ cancellations, generating, findModel }),
    whenReady: async () => void (await Promise.all([models.whenReady(), listings.refresh()])),
    whenSettled: async () => void (await Promise.all([models.whenSettled(), listings.refresh()])),
    async reconfigure(next) {
      live.change(next, (before) => {
        const createNext = (model: ConfiguredModel) => createModel(model, { ...factory, limits: next.limits })
        listings.change(next.listings, (others) => replaceModels(others, { before, after: next, create: createNext }))
      })
      server.setAccess(live.access)
      sharing.change(next.memory)
      void checkKeys()
    },
    async close() {
      const { shutdownGraceMs, drainDelayMs } = live.current.server
      await server.drain(shutdownGraceMs, drainDelayMs)
      closeSecond()
      load.close()
      sharing.close()
      await Promise.all([validator.close(), models.close(), listings.close(), live.close(), tools.close(), usage?.close()])
      // What the others write last may go there.
      await Promise.all([store?.close(), traces?.close(), captures?.close()])
    },
  }
}

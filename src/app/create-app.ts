import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import type { ModelViewer } from '../contract/principal.ts'
import { Cancellations } from '../core/cancellations.ts'
import type { Generation, generate } from '../core/generate.ts'
import { PrefixMemory } from '../core/prefix-memory.ts'
import { PresetSwitch } from '../core/preset-switch.ts'
import { readPreset } from '../dialect/presets/read-preset.ts'
import type { ModelDirectory, ModelSummary, ServerDeps } from '../http/deps.ts'
import { createServer } from '../http/server.ts'
import { TemplateFolder } from '../registry/template-folder.ts'
import { OutputValidator } from '../threads/output-validator.ts'

import { answerFetch } from './answer-fetch.ts'
import { openConfiguredStore } from './configured-store.ts'
import { createModel, type OwnModel, registerOwnModel, type StartObserver } from './create-model.ts'
import { findKeys } from './find-keys.ts'
import { createInProcess } from './in-process.ts'
import { createKeyLimiting } from './key-limits.ts'
import { explainListenError } from './listen-error.ts'
import { createMetrics } from './metrics.ts'
import { ModelSet } from './model-set.ts'
import { createSealer } from './sealer.ts'
import { createStopLog } from './stop-log.ts'
import { warnOfUnknownModels } from './unknown-models.ts'
import { version } from './version.ts'
import { startWritingUses } from './write-uses.ts'

/** The whole server, from a configuration. */
export type App = {
  /** Accepts connections, and begins to load the models that load at start. Resolves with the address. */
  listen(): Promise<string>
  /** Begins to load the models that load at start, without a listener. Idempotent. */
  load(): void
  /** Answers a request without a socket; aborting its signal is the client leaving. */
  fetch(request: Request): Promise<Response>
  /** Generates in process, the same way as over HTTP. Throws `model-not-found`. */
  generate(requests: Parameters<typeof generate>[1], signal?: AbortSignal): Generation
  /** Resolves when all models that load at start are ready; rejects with the first failure. */
  whenReady(): Promise<void>
  /** Resolves when those models are ready or have failed. Rejects with the reasons when nothing is left to serve. */
  whenSettled(): Promise<void>
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

type AppOptions = { readonly log: Logger; readonly observer?: StartObserver; readonly parts?: AppParts }

const noObserver: StartObserver = { onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined }

/** The composition root: the only place that knows every layer. */
export async function createApp(config: LoadedConfig, { log, observer = noObserver, parts = {} }: AppOptions): Promise<App> {
  const { server: settings, home } = config
  const { apiKeys, createdKey, findKey, writeUses } = await findKeys(config)
  const requiresKey = apiKeys.length > 0 || findKey !== undefined
  if (!requiresKey && settings.allowedOrigins.includes('*')) {
    log.warn('server.allowedOrigins is * and no API key is required: any web page open on this machine can use the models')
  }
  const { createScheduler, readLimits } = await createKeyLimiting({ requiresKey })
  const models = new ModelSet(
    (watching) => [
      ...(parts.models ?? []).map((model) => registerOwnModel(model, createScheduler)),
      ...config.models.map((model) => createModel(model, { home, log, observer: watching, createScheduler })),
    ],
    observer,
  )
  const resolveModel = (name: string, viewer: ModelViewer) => models.resolve(name, viewer)
  const metrics = createMetrics({
    readLoad: () =>
      models.all().map(({ id, scheduler, engine }) => ({
        id,
        queued: scheduler.load.queued,
        busy: scheduler.load.busy,
        tokensAfterCancel: engine.tokensAfterCancel,
      })),
  })
  const validator = new OutputValidator()
  const generating = {
    now: () => performance.now(),
    validator,
    presets: createPresets(config),
    prefixes: new PrefixMemory({ onDiverged: metrics.promptDiverged }),
    record: metrics.generationEnded,
  }
  const cancellations = new Cancellations({ onCancel: metrics.requestCancelled, onStopped: createStopLog(log) })
  const store = await openConfiguredStore(config, log)
  await store?.cancels?.listen((cancel) => void cancellations.cancelRequested(cancel))
  const directory: ModelDirectory = {
    list: (viewer) => models.summaries(viewer),
    get: (name, viewer) => models.summary(name, viewer),
  }
  warnOfUnknownModels(apiKeys, directory, log)
  const uses = writeUses && startWritingUses(writeUses, log)
  const server = createServer({
    ...generating,
    resolveModel,
    ...(parts.dialects !== undefined && { dialects: parts.dialects }),
    ...(config.templates !== undefined && { templates: new TemplateFolder(config.templates) }),
    models: directory,
    cancellations,
    sealer: await createSealer({ home, log }),
    ...(store !== undefined && { store }),
    ...(readLimits !== undefined && { readLimits }),
    auth: { apiKeys, ...(findKey !== undefined && { findKey }) },
    hosts: { hostname: hostname(), allowedHosts: [settings.host, ...settings.allowedHosts] },
    allowedOrigins: settings.allowedOrigins,
    reasoningFields: settings.reasoningFields,
    heartbeatMs: settings.heartbeatMs,
    bodyLimitBytes: settings.bodyLimitBytes,
    totalBodyLimitBytes: settings.totalBodyLimitBytes,
    log,
    metrics,
    version,
  })
  return {
    createdKey,
    requiresKey,
    get models() {
      return models.summaries({})
    },
    async listen() {
      const url = await listen(server.app.listen({ host: settings.host, port: settings.port }), settings)
      models.load()
      return url
    },
    load: () => models.load(),
    fetch: (request) => answerFetch(server.app, request),
    generate: createInProcess({ cancellations, generating, resolveModel }),
    whenReady: () => models.whenReady(),
    whenSettled: () => models.whenSettled(),
    async close() {
      await server.drain(settings.shutdownGraceMs, settings.drainDelayMs)
      await Promise.all([validator.close(), models.close(), store?.close(), uses?.stop()])
    },
  }
}

/** Throws `invalid-request` for a preset with values that a request could not have. */
function createPresets({ sampling: { preset, presets } }: LoadedConfig): PresetSwitch {
  const read = Object.entries(presets).map(([name, wire]) => [name, readPreset(wire, `sampling.presets.${name}`)] as const)
  return new PresetSwitch(new Map(read), preset)
}

async function listen(listening: Promise<string>, settings: { host: string; port: number }): Promise<string> {
  try {
    return await listening
  } catch (error) {
    throw explainListenError(error, settings)
  }
}

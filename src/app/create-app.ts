import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import type { Emit } from '../contract/emit.ts'
import { AppError, messageOf } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { Principal } from '../contract/principal.ts'
import { Cancellations } from '../core/cancellations.ts'
import { type GenerateDeps, type Generation, generate } from '../core/generate.ts'
import { PresetSwitch } from '../core/preset-switch.ts'
import { readPreset } from '../dialect/presets/read-preset.ts'
import type { ModelSummary, ServerDeps } from '../http/deps.ts'
import { createServer } from '../http/server.ts'
import { createRegistry } from '../registry/registry.ts'
import { TemplateFolder } from '../registry/template-folder.ts'
import { OutputValidator } from '../threads/output-validator.ts'

import { answerFetch } from './answer-fetch.ts'
import { ensureApiKeyFile, hashApiKey } from './api-key-file.ts'
import { createModel, type OwnModel, type RegisteredModel, registerOwnModel, type StartObserver } from './create-model.ts'

import { explainListenError } from './listen-error.ts'
import { isLoopback } from './loopback.ts'
import { createMetrics } from './metrics.ts'
import { version } from './version.ts'

/** The whole server, from a configuration. */
export type App = {
  /** Accepts connections, and begins to load the models that load at start. Resolves with the address. */
  listen(): Promise<string>
  /** Begins to load the models that load at start, without a listener. Idempotent. */
  load(): void
  /** Answers a request without a socket; aborting its signal is the client leaving. */
  fetch(request: Request): Promise<Response>
  /** Generates in process, by the same way as a request over HTTP. Throws `model-not-found`. */
  generate(requests: Parameters<typeof generate>[1], signal?: AbortSignal): Generation
  /** Resolves when every model that loads at start is ready; rejects with the first that cannot be. */
  whenReady(): Promise<void>
  /** Finishes what runs, within the configured grace period, then ends everything. */
  close(): Promise<void>
  /** The key that was made because this server can be reached from elsewhere and had none; shown once, never again. */
  readonly createdKey: string | undefined
  readonly models: readonly ModelSummary[]
}

/** Parts besides those that the configuration names. */
export type AppParts = {
  readonly models?: readonly OwnModel[]
  readonly dialects?: ServerDeps['dialects']
}

export type AppOptions = { readonly log: Logger; readonly observer?: StartObserver; readonly parts?: AppParts }

const nobody: StartObserver = { onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined }

/** The composition root: the only place that knows every layer. */
export async function createApp(config: LoadedConfig, { log, observer = nobody, parts = {} }: AppOptions): Promise<App> {
  const { server: settings, home } = config
  const { hashes, createdKey } = await findKeys(config)
  if (hashes.length === 0 && settings.allowedOrigins.includes('*')) {
    log.warn('server.allowedOrigins is * and no key is asked for: every web page that is open on this machine can use the models')
  }
  const stopping = new AbortController()
  const watching: StartObserver = {
    ...observer,
    onFetch(id) {
      observer.onFetch(id)
      // So that the first request need not wait for it; why it cannot be loaded is in the log.
      findStandIn(id)
        ?.engine.ensureReady(stopping.signal)
        .catch(() => undefined)
    },
  }
  const registry = createRegistry([
    ...(parts.models ?? []).map(registerOwnModel),
    ...config.models.map((model) => createModel(model, { home, log, observer: watching })),
  ])
  const findStandIn = (name: string): RegisteredModel | undefined => {
    const { standIn } = registry.resolve(name)
    return standIn === undefined ? undefined : registry.resolve(standIn)
  }
  const resolve = (name: string): RegisteredModel => {
    const model = registry.resolve(name)
    return model.isAwaitingFile && name !== model.id ? (findStandIn(name) ?? model) : model
  }
  const metrics = createMetrics({
    readLoad: () =>
      registry.list().map(({ id, scheduler, engine }) => ({
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
    record: metrics.generationEnded,
  }
  const cancellations = new Cancellations()
  const server = createServer({
    ...generating,
    resolveModel: resolve,
    ...(parts.dialects !== undefined && { dialects: parts.dialects }),
    ...(config.templates !== undefined && { templates: new TemplateFolder(config.templates) }),
    models: { list: () => registry.list().map(summarize), get: (name) => summarize(resolve(name)) },
    cancellations,
    auth: { apiKeyHashes: hashes },
    hosts: { hostname: hostname(), allowedHosts: [settings.host, ...settings.allowedHosts] },
    allowedOrigins: settings.allowedOrigins,
    reasoningFields: settings.reasoningFields,
    heartbeatMs: settings.heartbeatMs,
    bodyLimitBytes: settings.bodyLimitBytes,
    log,
    metrics,
    version,
  })
  let started: Promise<void>[] | undefined
  const load = () => {
    started ??= registry
      .list()
      .filter((model) => model.loadsAtStart)
      .map((model) =>
        model.engine.ensureReady(stopping.signal).catch((error: unknown) => {
          const standIn = findStandIn(model.id)
          if (standIn === undefined || !model.isAwaitingFile) throw error
          const names = model.aliases.join(', ')
          observer.onNote(model.id, `${messageOf(error)}\n${standIn.id}, which comes with Dragoman, answers as ${names} instead`)
          return standIn.engine.ensureReady(stopping.signal)
        }),
      )
    // A model that cannot be loaded is in the log and in GET /ready; the others are served.
    for (const loading of started) loading.catch(() => undefined)
  }
  return {
    createdKey,
    get models() {
      return registry.list().map(summarize)
    },
    async listen() {
      const url = await listen(server.app.listen({ host: settings.host, port: settings.port }), settings)
      load()
      return url
    },
    load,
    fetch: (request) => answerFetch(server.app, request),
    generate: (requests, signal) => {
      const model = resolve(requests[0].model)
      return { run: (emit) => runInProcess({ cancellations, generating }, { model, requests, signal, emit }) }
    },
    async whenReady() {
      await Promise.all(started ?? [])
    },
    async close() {
      await server.drain(settings.shutdownGraceMs)
      stopping.abort(new AppError('shutting-down', 'the server is shutting down'))
      await Promise.all([validator.close(), ...registry.list().map(({ engine }) => engine.close())])
    },
  }
}

/** Callers in this process may do everything. */
const inProcess: Principal = { id: 'in-process', scopes: new Set(['public', 'inference', 'admin']) }

type InProcessDeps = { readonly cancellations: Cancellations; readonly generating: GenerateDeps }
type InProcessRun = {
  readonly model: RegisteredModel
  readonly requests: Parameters<typeof generate>[1]
  readonly signal: AbortSignal | undefined
  readonly emit: Emit<GenerationEvent>
}

async function runInProcess({ cancellations, generating }: InProcessDeps, { model, requests, signal, emit }: InProcessRun) {
  const { id } = requests[0]
  const handle = cancellations.open({ id, owner: inProcess.id })
  handle.servedBy(model.id)
  const cancel = () => handle.cancel('requested')
  signal?.addEventListener('abort', cancel, { once: true })
  if (signal?.aborted === true) cancel()
  try {
    const context = { id, principal: inProcess, model, receivedAtMs: generating.now(), signal: handle.signal }
    await generate(generating, requests, context).run(emit)
  } finally {
    signal?.removeEventListener('abort', cancel)
    handle.close()
  }
}

/** Throws `invalid-request` for a preset that says what no request could. */
function createPresets({ sampling: { preset, presets } }: LoadedConfig): PresetSwitch {
  const read = Object.entries(presets).map(([name, wire]) => [name, readPreset(wire, `sampling.presets.${name}`)] as const)
  return new PresetSwitch(new Map(read), preset)
}

/** On loopback keys are optional; where others can reach the server, it never runs without one. */
async function findKeys({ server, home }: LoadedConfig): Promise<{ hashes: readonly string[]; createdKey: string | undefined }> {
  if (server.apiKeys !== undefined) return { hashes: server.apiKeys.map(hashApiKey), createdKey: undefined }
  if (isLoopback(server.host)) return { hashes: [], createdKey: undefined }
  const { hashes, createdKey } = await ensureApiKeyFile(join(home, 'api-keys.json'))
  return { hashes, createdKey }
}

async function listen(listening: Promise<string>, settings: { host: string; port: number }): Promise<string> {
  try {
    return await listening
  } catch (error) {
    throw explainListenError(error, settings)
  }
}

function summarize(model: RegisteredModel): ModelSummary {
  const { id, aliases, createdAtMs, engine, standIn, isAwaitingFile } = model
  const { contextLength } = engine.facts
  // One that cannot be had, and that another stands in for, is not waited for.
  const loadsAtStart = model.loadsAtStart && !(standIn !== undefined && isAwaitingFile && engine.state.type === 'failed')
  const servers = engine.capabilities.fleet?.replicas()
  return {
    id,
    aliases,
    loadsAtStart,
    createdAtMs,
    state: engine.state,
    ...(contextLength !== undefined && { contextLength }),
    ...(servers !== undefined && { servers }),
  }
}

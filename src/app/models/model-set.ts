import { given } from '../../base/json.ts'
import type { EngineFacts, ModelKind } from '../../contract/engine.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import { loadModel } from '../../contract/served-model.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { createRegistry } from '../../registry/names/registry.ts'
import type { Registered, StartObserver } from './create-model.ts'

/** Receives the models before a change and returns those after it, in listing order. */
type ChangeModels = (models: readonly Registered[]) => readonly Registered[]

/** The models of a server, with stand-ins for those whose file is not available yet. They can change while the server runs. */
export class ModelSet {
  #registry = createRegistry<Registered>([])
  #hasRequired = false
  readonly #observer: StartObserver
  readonly #stopping = new AbortController()
  readonly #retired = new RetiredModels()
  readonly #listeners = new Set<() => void>()
  #loading: readonly Promise<void>[] | undefined
  /** Engines of the initial models whose first load has not ended. */
  readonly #awaited = new Set<Registered['engine']>()
  /** Receives the reports of this set's models while they load. */
  readonly observer: StartObserver

  /** Starts empty; the first `change` adds the initial models. */
  constructor(observer: StartObserver) {
    this.#observer = observer
    this.observer = {
      ...observer,
      onFetch: (id) => {
        observer.onFetch(id)
        // Loads the stand-in early; a failure is in the log.
        const standIn = this.#standInOf(id)
        if (standIn !== undefined) preload(standIn, this.#stopping.signal).catch(() => undefined)
      },
    }
  }

  /**
   * Changes the models in one step: adds, replaces, removes and sorts. A request keeps the model that it resolved; a model whose engine is
   * gone is freed when its last request has ended. New models that load at start begin to load. Throws `invalid-request`, without a change,
   * if two models would have the same name. Resolves when removed models are freed.
   */
  change(change: ChangeModels): Promise<void> {
    const before = this.all()
    this.#registry = createRegistry(change(before))
    this.#hasRequired = this.all().some(({ required }) => required === true)
    const gone = missingFrom(this.all(), before)
    for (const { engine } of gone) this.#awaited.delete(engine)
    const freed = gone.map((model) => this.#retired.add(model))
    for (const model of missingFrom(before, this.all()).filter(({ loadsAtStart }) => loadsAtStart)) {
      if (this.#loading === undefined) this.#awaited.add(model.engine)
      // A failure is in the log.
      else this.#loadOrStandIn(model).catch(() => undefined)
    }
    for (const listener of this.#listeners) listener()
    return Promise.all(freed).then(() => undefined)
  }

  /** Calls the listener after every change. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * The model for a name, among those that the caller may use: for an alias of a model without its file, the stand-in. Throws
   * `model-not-found`.
   */
  resolve(name: string, { models: allowed }: ModelViewer): Registered {
    const model = this.#registry.resolve(name, allowed)
    return model.isAwaitingFile && name !== model.id ? (this.#standInOf(model.id) ?? model) : model
  }

  /** Undefined if there is no such model, or the caller may not use it. */
  find(name: string, viewer: ModelViewer): Registered | undefined {
    try {
      return this.resolve(name, viewer)
    } catch {
      return undefined
    }
  }

  all(): readonly Registered[] {
    return this.#registry.list()
  }

  /** The models that the caller may use; versions only where they are named. */
  shown({ models: allowed }: ModelViewer): readonly Registered[] {
    const isShown = ({ id, config }: Registered) => config?.versionOf === undefined || allowed?.includes(id) === true
    return this.#registry.list(allowed).filter(isShown)
  }

  summaries(viewer: ModelViewer): readonly ModelSummary[] {
    return this.shown(viewer).map((model) => this.#summarize(model))
  }

  /** Throws `model-not-found`. */
  summary(name: string, viewer: ModelViewer): ModelSummary {
    return this.#summarize(this.resolve(name, viewer))
  }

  /** Begins to load the models that load at start. Idempotent. */
  load(): void {
    this.#loading ??= this.all()
      .filter(({ loadsAtStart }) => loadsAtStart)
      .map((model) => this.#loadOrStandIn(model).finally(() => this.#awaited.delete(model.engine)))
    // A failure is in the log and in GET /ready; the other models are served.
    for (const loading of this.#loading) loading.catch(() => undefined)
  }

  /** Resolves when all models of `load` are ready; rejects with the first failure. */
  async whenReady(): Promise<void> {
    await Promise.all(this.#loading ?? [])
  }

  /**
   * Resolves when every model of `load` is ready or has failed. Rejects with the reasons if none is left to serve, now or later, except the
   * built-in one: then nothing that this server was started for works.
   */
  async whenSettled(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#loading ?? [])
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    const [first] = reasons
    if (first === undefined || this.#stopping.signal.aborted) return
    const servable = this.all().filter(({ id }) => id !== builtinModel.id)
    if (outcomes.length > reasons.length || servable.some((model) => !model.loadsAtStart || model.mayRecover)) return
    throw new AppError('model-unavailable', reasons.map(messageOf).join('\n'), { cause: first })
  }

  /** Stops loading and closes all engines. */
  async close(): Promise<void> {
    this.#stopping.abort(new AppError('shutting-down', 'the server is shutting down'))
    await Promise.all([...this.all().map(({ engine }) => engine.close()), this.#retired.close()])
  }

  async #loadOrStandIn(model: Registered): Promise<void> {
    const { signal } = this.#stopping
    try {
      if (await preload(model, signal)) return
      this.#observer.onNote(model.id, 'it does not fit beside the models that are loaded; the first request for it loads it')
    } catch (error) {
      const standIn = this.#standInOf(model.id)
      if (standIn === undefined || !model.isAwaitingFile || signal.aborted) throw error
      const names = model.aliases.join(', ')
      // The log entry begins with the model's id, which the error would repeat.
      const { state } = model.engine
      const reason = state.type === 'failed' ? state.reason : messageOf(error)
      this.#observer.onNote(model.id, `${standIn.id}, which comes with Dragoman, answers as ${names} instead: ${reason}`)
      await loadModel(standIn, signal)
    }
  }

  /** The stand-in of a model, by ids; undefined for a model that is not, or no longer, in the set. */
  #standInOf(id: string): Registered | undefined {
    const find = (wanted: string | undefined) => this.all().find((model) => model.id === wanted)
    return find(find(id)?.standIn)
  }

  #summarize(model: Registered): ModelSummary {
    const { id, aliases, engine, isAwaitingFile, resident } = model
    const { ownedBy, kind = kindOf(engine.facts), createdAtMs = model.createdAtMs, ...listed } = model.config?.listed ?? {}
    const { contextLength = listed.contextLength, modalities, mediaProblem, runsOn } = engine.facts
    const standIn = isAwaitingFile && engine.state.type === 'failed' ? this.#standInOf(id)?.id : undefined
    const { fleet, services } = engine.capabilities
    const servers = fleet?.replicas()
    return {
      id,
      aliases,
      loadsAtStart: model.loadsAtStart && resident?.comesAndGoes !== true,
      isAwaited: this.#awaited.has(engine),
      isRequired: this.#requirementOf(model),
      createdAtMs,
      state: engine.state,
      ...given({ standIn, contextLength, ownedBy, kind, modalities, mediaProblem, runsOn }),
      ...(services !== undefined && { services: [...services.kinds] }),
      ...given({ servers, versions: model.versions }),
    }
  }

  /** As configured; otherwise the model called `default` is required where no model is marked as required. */
  #requirementOf({ id, aliases, required }: Registered): ModelSummary['isRequired'] {
    if (required !== undefined) return required ? 'yes' : 'no'
    if (id === builtinModel.id || this.#hasRequired) return 'no'
    return [id, ...aliases].includes('default') ? 'yes' : 'any'
  }
}

/** The purpose of a model that does not chat, as far as its engine knows. */
function kindOf({ ranks, onlyEmbeds }: EngineFacts): ModelKind | undefined {
  if (ranks === true) return 'rerank'
  return onlyEmbeds === true ? 'embeddings' : undefined
}

/** Loads a model into free memory; false if there is too little. */
async function preload({ engine, resident }: Registered, signal: AbortSignal): Promise<boolean> {
  if (resident !== undefined) return resident.preload(signal)
  await engine.ensureReady(signal)
  return true
}

/** The models whose engines are missing from `models`; a kept one may have got other names. */
function missingFrom(models: readonly Registered[], others: readonly Registered[]): readonly Registered[] {
  const engines = new Set(models.map(({ engine }) => engine))
  return others.filter(({ engine }) => !engines.has(engine))
}

/** Models that are no longer served: each is freed as soon as no request uses it. */
class RetiredModels {
  readonly #kept = new Set<Registered>()
  readonly #closing = new AbortController()

  /** Resolves when it is freed. */
  add(model: Registered): Promise<void> {
    const free = async () => {
      if (this.#kept.has(model)) return
      this.#kept.add(model)
      await this.#freeWhenIdle(model)
    }
    // A request that resolved the model before it was retired may still load it again.
    model.engine.onState(({ type }) => {
      if (type === 'ready') void free()
    })
    return free()
  }

  /** Frees all of them immediately. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#kept].map(({ engine }) => engine.close()))
  }

  async #freeWhenIdle(model: Registered): Promise<void> {
    const { signal } = this.#closing
    await model.scheduler.whenIdle(signal).catch(() => undefined)
    // `close` frees it.
    if (signal.aborted) return
    await model.engine.close()
    model.resident?.remove()
    this.#kept.delete(model)
  }
}

import { AppError, messageOf } from '../contract/errors.ts'
import type { ModelViewer } from '../contract/principal.ts'
import type { ModelSummary } from '../http/deps.ts'
import { builtinModel } from '../registry/builtin-model.ts'
import { createRegistry } from '../registry/registry.ts'
import type { RegisteredModel, StartObserver } from './create-model.ts'

/** Creates the models; they report downloads to the observer. */
type CreateModels = (observer: StartObserver) => readonly RegisteredModel[]

/** The models of a server, with stand-ins for those whose file is not available yet. */
export class ModelSet {
  readonly #registry: ReturnType<typeof createRegistry<RegisteredModel>>
  readonly #observer: StartObserver
  readonly #stopping = new AbortController()
  #loading: readonly Promise<void>[] | undefined
  /** Models whose first load has not ended. */
  readonly #awaited = new Set<RegisteredModel>()

  constructor(createModels: CreateModels, observer: StartObserver) {
    this.#observer = observer
    this.#registry = createRegistry(
      createModels({
        ...observer,
        onFetch: (id) => {
          observer.onFetch(id)
          // Loads the stand-in early; a failure is in the log.
          this.#standInOf(id)
            ?.engine.ensureReady(this.#stopping.signal)
            .catch(() => undefined)
        },
      }),
    )
    for (const model of this.all()) if (model.loadsAtStart) this.#awaited.add(model)
  }

  /**
   * The model for a name, among those that the caller may use: for an alias of a model without its file, the stand-in. Throws
   * `model-not-found`.
   */
  resolve(name: string, { models: allowed }: ModelViewer): RegisteredModel {
    const model = this.#registry.resolve(name, allowed)
    return model.isAwaitingFile && name !== model.id ? (this.#standInOf(model.id) ?? model) : model
  }

  all(): readonly RegisteredModel[] {
    return this.#registry.list()
  }

  /** The models that the caller may use. */
  summaries({ models: allowed }: ModelViewer): readonly ModelSummary[] {
    return this.#registry.list(allowed).map((model) => this.#summarize(model))
  }

  /** Throws `model-not-found`. */
  summary(name: string, viewer: ModelViewer): ModelSummary {
    return this.#summarize(this.resolve(name, viewer))
  }

  /** Begins to load the models that load at start. Idempotent. */
  load(): void {
    this.#loading ??= this.all()
      .filter(({ loadsAtStart }) => loadsAtStart)
      .map((model) => this.#loadOrStandIn(model).finally(() => this.#awaited.delete(model)))
    // A failure is in the log and in GET /ready; the other models are served.
    for (const loading of this.#loading) loading.catch(() => undefined)
  }

  /** Resolves when all models of `load` are ready; rejects with the first failure. */
  async whenReady(): Promise<void> {
    await Promise.all(this.#loading ?? [])
  }

  /**
   * Resolves when every model of `load` is ready or has failed. Rejects with the reasons when none is left to serve, now or later, except
   * the built-in one: then nothing that this server was started for works.
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
    await Promise.all(this.all().map(({ engine }) => engine.close()))
  }

  async #loadOrStandIn(model: RegisteredModel): Promise<void> {
    const { signal } = this.#stopping
    try {
      await model.engine.ensureReady(signal)
    } catch (error) {
      const standIn = this.#standInOf(model.id)
      if (standIn === undefined || !model.isAwaitingFile || signal.aborted) throw error
      const names = model.aliases.join(', ')
      // The note begins with the model's id, which the error would repeat.
      const { state } = model.engine
      const reason = state.type === 'failed' ? state.reason : messageOf(error)
      this.#observer.onNote(model.id, `${standIn.id}, which comes with Dragoman, answers as ${names} instead: ${reason}`)
      await standIn.engine.ensureReady(signal)
    }
  }

  #standInOf(name: string): RegisteredModel | undefined {
    const { standIn } = this.#registry.resolve(name)
    return standIn === undefined ? undefined : this.#registry.resolve(standIn)
  }

  #summarize(model: RegisteredModel): ModelSummary {
    const { id, aliases, createdAtMs, engine, loadsAtStart, isAwaitingFile } = model
    const { contextLength } = engine.facts
    const standIn = isAwaitingFile && engine.state.type === 'failed' ? this.#standInOf(id)?.id : undefined
    const servers = engine.capabilities.fleet?.replicas()
    return {
      id,
      aliases,
      loadsAtStart,
      isAwaited: this.#awaited.has(model),
      isRequired: this.#requirementOf(model),
      createdAtMs,
      state: engine.state,
      ...(standIn !== undefined && { standIn }),
      ...(contextLength !== undefined && { contextLength }),
      ...(servers !== undefined && { servers }),
    }
  }

  /** As configured; otherwise the model called `default` is required where no model is marked as required. */
  #requirementOf({ id, aliases, required }: RegisteredModel): ModelSummary['isRequired'] {
    if (required !== undefined) return required ? 'yes' : 'no'
    if (id === builtinModel.id || this.all().some((other) => other.required === true)) return 'no'
    return [id, ...aliases].includes('default') ? 'yes' : 'any'
  }
}

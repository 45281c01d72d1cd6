import { isDeepStrictEqual } from 'node:util'
import { KeyedQueue } from '../base/queue.ts'
import type { ConfiguredModel } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { Principal } from '../contract/principal.ts'
import type {
  FoundModel,
  Lifecycle,
  LoadProgress,
  LoadReport,
  LoadRequest,
  LoadRun,
  ModelReport,
  ModelWanted,
} from '../contract/server/lifecycle.ts'
import { locateModelFile } from '../registry/fetch/fetch-model.ts'
import { isFetched, removeFirstStored } from '../registry/fetch/stored-models.ts'
import { applySettings } from './apply-settings.ts'
import { bringUp, progressOf } from './bring-up.ts'
import { fetchFiles, hasFiles, type ModelFiles, type ModelWithFiles, pathsHere, sizeOf } from './fetch-files.ts'
import { findAdapterBase } from './find-adapter-base.ts'
import { findAdapters } from './find-adapters.ts'
import { findByName, findModel } from './find-model.ts'
import { environment, listFiles } from './list-files.ts'
import { lookUp } from './look-up.ts'
import {
  type DescribeMedia,
  decidingLoad,
  type Managed,
  refuseInUse,
  refuseOwn,
  report,
  requestsOf,
  unknownName,
  untilIdle,
} from './model-report.ts'
import { takeFile } from './take-file.ts'
import { writeTemplate } from './write-template.ts'

type LifecycleDeps<Model extends Managed> = {
  readonly models: {
    all(): readonly Model[]
    /** Resolves when removed models hold no memory. */
    change(change: (models: readonly Model[]) => readonly Model[]): Promise<void>
  }
  /** Looks for new files in the models folder. */
  refresh(): void
  create(config: ConfiguredModel): Model
  endRequests(model: string): void
  /** Dragoman's data folder. */
  readonly home: string
  readonly describeMedia: DescribeMedia
  /** Has `HF_ENDPOINT` and `HF_TOKEN`; absent: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const never = new AbortController().signal

/** Loads and unloads the models of a set: one operation at a time for each model, concurrently for several. */
export class LifecycleService<Model extends Managed> implements Lifecycle {
  readonly #deps: LifecycleDeps<Model>
  readonly #turns = new KeyedQueue<string>()
  readonly #loads = new Set<RunningLoad>()
  /** The models created by loads, with their configurations before the settings of a load. `isAdded`: the model did not exist before. */
  readonly #made = new Map<string, { readonly model: Model; readonly base: ConfiguredModel; readonly isAdded: boolean }>()
  /** The ids of models by the names used to load them, such as the path of a file. */
  readonly #calledBy = new Map<string, string>()
  #active: string | undefined
  /** An operator's active model; without keys, only protocols with one model identify the operator. */
  #chosen: string | undefined
  /** The model that was last loaded beside the active one, to embed. */
  #beside: string | undefined

  constructor(deps: LifecycleDeps<Model>) {
    this.#deps = deps
  }

  async load(asked: LoadRequest, run: LoadRun): Promise<{ readonly model: ModelReport; readonly isNew: boolean }> {
    const request = await this.#withAdapter(asked)
    const base = this.#withAlias(await this.#find(request, run.signal), request.alias)
    this.#calledBy.set(asked.name.trim(), base.id)
    const wanted = await this.#withSettings(base, request, run.signal)
    const load: RunningLoad = {
      model: base.id,
      owner: run.principal.id,
      stop: new AbortController(),
      progress: progressOf('waiting', { receivedBytes: 0 }),
    }
    const onProgress = (progress: LoadProgress) => {
      load.progress = progress
      run.onProgress?.(progress)
    }
    const signal = AbortSignal.any([run.signal, load.stop.signal])
    this.#loads.add(load)
    try {
      const isNew = await this.#turns.run(base.id, signal, () =>
        this.#load({ base, wanted, request }, { ...run, signal, onProgress }),
      )
      if (request.isBeside === true) this.#beside = base.id
      else {
        this.#active = base.id
        if (request.servesNameless === true || run.principal.isAnyone !== true) this.#chosen = base.id
      }
      return { model: report(this.#require(base.id)), isNew }
    } finally {
      this.#loads.delete(load)
      // A failed load may have left no model.
      if (this.#at(base.id) === undefined) this.#calledBy.delete(asked.name.trim())
    }
  }

  async find(wanted: ModelWanted, signal: AbortSignal): Promise<FoundModel> {
    const adapter = await findAdapterBase(wanted.name, this.#bases())
    const config = adapter?.base ?? (await this.#find(wanted, signal))
    const found = await lookUp(config, { ...this.#deps, token: wanted.token, signal })
    return adapter === undefined ? found : { ...found, isAdapter: true }
  }

  async fetch(
    { files, ...wanted }: Parameters<Lifecycle['fetch']>[0],
    { signal, onProgress = () => undefined }: Omit<LoadRun, 'principal'>,
  ): Promise<string> {
    const found = await this.#find(wanted, signal)
    const { env = process.env } = this.#deps
    const config =
      files === undefined
        ? found
        : await takeFile(found, files, (source) => listFiles(source, { env, token: wanted.token, signal }))
    const fetched = await this.#fetchFiles(config, { signal, token: wanted.token, onProgress })
    if (fetched !== undefined) return fetched.modelPath
    throw new AppError('invalid-request', `model '${config.id}' has no file to fetch`, { at: ['name'] })
  }

  async unload(name: string, { endsRequests, principal }: UnloadOptions): Promise<string> {
    const called = this.#calledBy.get(name.trim()) ?? name.trim()
    const loads = [...this.#loads].filter(({ model }) => model.toLowerCase() === called.toLowerCase())
    const id = this.#named(name)?.id ?? this.#named(called)?.id ?? loads[0]?.model
    if (id === undefined) throw unknownName(name, this.#deps.models.all())
    for (const { model, owner, stop } of this.#loads) {
      if (model !== id) continue
      if (owner !== principal.id) throw new AppError('request-conflict', `another key is loading model '${id}'; try again later`)
      stop.abort(new AppError('cancelled', `model '${id}' was unloaded while it was being loaded`))
    }
    // A cancelled load cleans up when its turn comes.
    return this.#turns.run(id, never, async () => {
      const current = this.#at(id)
      if (current === undefined) return id
      refuseInUse(current, endsRequests)
      await this.#return(current, endsRequests)
      if (this.#active === id) this.#active = undefined
      if (this.#chosen === id) this.#chosen = undefined
      if (this.#beside === id) this.#beside = undefined
      for (const [call, model] of this.#calledBy) if (model === id) this.#calledBy.delete(call)
      return id
    })
  }

  async deleteFile(name: string, options: UnloadOptions): Promise<number> {
    const { id, stored } = await this.#storedOf(name)
    if (stored === undefined) throw new AppError('not-found', `model '${id}' has no file on this machine`)
    if (!stored.isFetched) {
      const message = `${stored.path} is a file of your own, which Dragoman does not delete: remove it yourself`
      throw new AppError('invalid-request', message)
    }
    await this.unload(id, options)
    return removeFirstStored(stored.source, this.#deps.home)
  }

  async remove(name: string, principal: Principal): Promise<void> {
    const { id, stored } = await this.#storedOf(name)
    await this.unload(id, { endsRequests: false, principal })
    if (stored?.isFetched !== true) return
    const used = await Promise.all(
      this.#bases()
        .filter(hasFiles)
        .map((other) => pathsHere(other, this.#deps.home)),
    )
    if (!used.flat().includes(stored.path)) await removeFirstStored(stored.source, this.#deps.home)
  }

  async #storedOf(name: string) {
    const model = this.#named(name)
    if (model === undefined) throw unknownName(name, this.#deps.models.all())
    const { home } = this.#deps
    const config = this.#baseOf(model)
    if (config === undefined || !hasFiles(config)) return { id: model.id }
    const { source } = config
    const file = await locateModelFile(source, home)
    return { id: model.id, ...(file !== undefined && { stored: { ...file, source, isFetched: isFetched(file.path, home) } }) }
  }

  models(): readonly ModelReport[] {
    this.#deps.refresh()
    return this.#deps.models.all().map((model) => (this.#isAdded(model) ? { ...report(model), isAdded: true } : report(model)))
  }

  active(): ModelReport | undefined {
    const loaded = this.#deps.models.all().filter(({ engine }) => engine.state.type === 'ready')
    const model = loaded.find(({ id }) => id === this.#active) ?? loaded[0]
    return model === undefined ? undefined : report(model)
  }

  chosen({ embeds } = { embeds: false }): string | undefined {
    const ids = [embeds ? this.#beside : undefined, this.#chosen]
    return ids.find((id) => id !== undefined && this.#at(id)?.engine.state.type === 'ready')
  }

  loads(): readonly LoadReport[] {
    return [...this.#loads].map(({ model, owner, progress }) => ({ model, owner, ...progress }))
  }

  async #find(wanted: ModelWanted, signal: AbortSignal): Promise<ConfiguredModel> {
    const { models, env = process.env, refresh } = this.#deps
    refresh()
    const current = models.all().find(({ id, aliases }) => [id, ...aliases].includes(wanted.name))
    if (current !== undefined && current.config === undefined) return refuseOwn(current)
    return findModel(wanted, {
      named: this.#bases(),
      listFiles: (repository, token) => listFiles(repository, { env, token, signal }),
    })
  }

  /** The configurations of all models, without the settings of loads. */
  #bases(): readonly ConfiguredModel[] {
    return this.#deps.models.all().flatMap((model) => this.#baseOf(model) ?? [])
  }

  /** Resolves the path of an adapter to its model with this adapter. */
  async #withAdapter(request: LoadRequest): Promise<LoadRequest> {
    this.#deps.refresh()
    const adapter = await findAdapterBase(request.name, this.#bases())
    if (adapter === undefined) return request
    const adapters = [...(request.settings.adapters ?? []), { name: adapter.path, scale: 1 }]
    return { ...request, name: adapter.base.id, settings: { ...request.settings, adapters } }
  }

  #withAlias(base: ConfiguredModel, alias: string | undefined): ConfiguredModel {
    if (alias === undefined || alias === base.id || this.#at(base.id) !== undefined) return base
    return { ...base, aliases: [...base.aliases, alias] }
  }

  async #withSettings(
    base: ConfiguredModel,
    { settings, keepsSettings, token }: LoadRequest,
    signal: AbortSignal,
  ): Promise<ConfiguredModel> {
    const { chatTemplate, draftModel, adapters } = settings
    const draft = draftModel === undefined ? undefined : await this.#sourceOf(draftModel, signal)
    const template = chatTemplate === undefined ? undefined : await writeTemplate(chatTemplate, this.#deps.home)
    const from = keepsSettings === true ? (this.#at(base.id)?.config ?? base) : base
    if (settings.vision === true && hasFiles(from)) await this.#requireVision(from, token, signal)
    return applySettings(from, settings, {
      ...(template !== undefined && { chatTemplate: template }),
      ...(draft !== undefined && { draft }),
      ...(adapters !== undefined && { adapters: findAdapters(adapters, base) }),
    })
  }

  async #requireVision(config: ConfiguredModel & ModelWithFiles, token: string | undefined, signal: AbortSignal): Promise<void> {
    const { describeMedia, env = process.env } = this.#deps
    const { modalities, mediaProblem = 'its projector has no part for pictures' } = await describeMedia(config, {
      env: environment(env, token),
      signal,
    })
    if (modalities?.image !== false) return
    const message = `${field('settings', 'vision')} cannot be true for model '${config.id}': ${mediaProblem}`
    throw new AppError('unsupported-field', message, { at: ['settings', 'vision'] })
  }

  async #sourceOf(name: string, signal: AbortSignal) {
    try {
      const config = await this.#find({ name }, signal)
      if (config.engine === 'llama' || config.engine === 'llama-server') return config.source
    } catch (error) {
      const { code, message } = AppError.from(error)
      throw new AppError(code, message, { at: ['settings', 'draftModel'], cause: error })
    }
    throw new AppError('invalid-request', `${field('settings', 'draftModel')} '${name}' is not a model file`, {
      at: ['settings', 'draftModel'],
    })
  }

  async #load({ base, wanted, request }: PlannedLoad, run: Required<LoadRun>): Promise<boolean> {
    const current = this.#at(base.id)
    const isSame = current?.config !== undefined && isDeepStrictEqual(decidingLoad(current.config), decidingLoad(wanted))
    if (isSame && !request.reloads && current.engine.state.type === 'ready') return false
    const isEnded = current !== undefined && (!isSame || request.reloads)
    if (isEnded && request.waits !== true) refuseInUse(current, request.endsRequests)
    // The loaded model serves until the files are present.
    const files = await this.#fetchFiles(wanted, { token: request.token, ...run })
    const sizeBytes = files === undefined ? 0 : await sizeOf(files)
    run.signal.throwIfAborted()
    if (isEnded && request.waits === true && !request.endsRequests) await untilIdle(current, run.signal)
    const model = current !== undefined && !isEnded ? current : await this.#exchange(current, { base, wanted, request })
    try {
      await bringUp(model, { ...run, settings: request.settings, sizeBytes })
      return true
    } catch (error) {
      // A cancelled load continues for requests that wait for the model.
      if (!run.signal.aborted || requestsOf(model) === 0) await this.#return(model, false)
      throw error
    }
  }

  /** Undefined for a model without files. */
  async #fetchFiles(config: ConfiguredModel, { token, signal, onProgress }: Fetching): Promise<ModelFiles | undefined> {
    if (!hasFiles(config)) return undefined
    const { home, env = process.env } = this.#deps
    return fetchFiles(config, {
      home,
      signal,
      env: environment(env, token),
      onProgress: (progress) => onProgress(progressOf('downloading', progress)),
      onVerify: (progress) => onProgress(progressOf('verifying', progress)),
    })
  }

  async #exchange(current: Model | undefined, { base, wanted, request: { endsRequests } }: PlannedLoad): Promise<Model> {
    const { models, create } = this.#deps
    if (current !== undefined) refuseInUse(current, endsRequests)
    const model = create({ ...wanted, load: 'demand' })
    this.#made.set(base.id, { model, base, isAdded: current === undefined || this.#isAdded(current) })
    const freed = models.change((all) =>
      current === undefined ? [...all, model] : all.map((other) => (other === current ? model : other)),
    )
    if (endsRequests) this.#deps.endRequests(base.id)
    await freed
    return model
  }

  /** Restores a model's configuration, unloaded; removes a model that a load added. Resolves when its memory is free. */
  async #return(model: Model, endsRequests: boolean): Promise<void> {
    const { models, create, endRequests } = this.#deps
    if (model.config === undefined) {
      if (endsRequests) endRequests(model.id)
      return model.engine.unload({ drainMs: 0 })
    }
    const base = this.#isAdded(model) ? undefined : this.#baseOf(model)
    this.#made.delete(model.id)
    const next = base === undefined ? [] : [create({ ...base, load: 'demand' })]
    const freed = models.change((all) => all.flatMap((other) => (other.id === model.id ? next : [other])))
    if (endsRequests) endRequests(model.id)
    await freed
  }

  #named(name: string): Model | undefined {
    this.#deps.refresh()
    return findByName(this.#deps.models.all(), name.trim())
  }

  /** The configuration of a model without the settings of a load. */
  #baseOf(model: Model): ConfiguredModel | undefined {
    const made = this.#made.get(model.id)
    return made?.model === model ? made.base : model.config
  }

  #isAdded(model: Model): boolean {
    const made = this.#made.get(model.id)
    return made?.model === model && made.isAdded
  }

  #at(id: string): Model | undefined {
    return this.#deps.models.all().find((model) => model.id === id)
  }

  #require(id: string): Model {
    const model = this.#at(id)
    if (model !== undefined) return model
    throw new AppError('request-conflict', `model '${id}' was removed meanwhile; try again`)
  }
}

type RunningLoad = Pick<LoadReport, 'model' | 'owner'> & { readonly stop: AbortController; progress: LoadProgress }
type Fetching = Required<Omit<LoadRun, 'principal'>> & { readonly token: string | undefined }
type UnloadOptions = Parameters<Lifecycle['unload']>[1]
type PlannedLoad = { readonly base: ConfiguredModel; readonly wanted: ConfiguredModel; readonly request: LoadRequest }

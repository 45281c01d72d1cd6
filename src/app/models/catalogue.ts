import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { Catalogue, ModelSummary } from '../../contract/server/catalogue.ts'
import { spelledAs } from '../../registry/names/aliases.ts'
import type { Registered } from './create-model.ts'
import { type ModelsFolder, openModelsFolder } from './folder-models.ts'
import { ModelListings } from './model-listings.ts'
import type { ModelSet } from './model-set.ts'
import { type ModelChanges, replaceModels } from './replace-models.ts'

type Sources = {
  readonly models: ModelSet
  readonly folder: ModelsFolder
  readonly listings: ModelListings
}

type Parts = {
  readonly models: ModelSet
  readonly log: Logger
  create(config: ConfiguredModel): Registered
}

/** Adds the models folder and the lists of servers to a set. Throws `invalid-request` when one of them cannot be used. */
export function openCatalogue(config: LoadedConfig, parts: Parts): ModelCatalogue {
  const folder = openModelsFolder(config, parts)
  return new ModelCatalogue({ models: parts.models, folder, listings: new ModelListings(config.listings, parts) })
}

/** Finds models in a set, to which it adds those that have come to the models folder or to the lists of servers. */
export class ModelCatalogue implements Catalogue {
  readonly #sources: Sources
  readonly #ignoresCase: boolean

  constructor(sources: Sources, { ignoresCase = false } = {}) {
    this.#sources = sources
    this.#ignoresCase = ignoresCase
  }

  get inAnyCase(): ModelCatalogue {
    return new ModelCatalogue(this.#sources, { ignoresCase: true })
  }

  get known(): Catalogue['known'] {
    return this.#sources.listings.known
  }

  get(name: string, viewer: ModelViewer): Registered {
    return this.#inSet(name, viewer) ?? this.#sources.models.resolve(name, viewer)
  }

  find(name: string, viewer: ModelViewer): Registered | Promise<Registered> {
    const { models, listings } = this.#sources
    const known = this.#inSet(name, viewer)
    if (known !== undefined) return known
    return listings.lookFor(name)?.then(() => this.get(name, viewer)) ?? models.resolve(name, viewer)
  }

  list(viewer: ModelViewer): readonly ModelSummary[] {
    this.lookInFolder()
    return this.#sources.models.summaries(viewer)
  }

  summary({ id }: Pick<Registered, 'id'>): ModelSummary {
    return this.#sources.models.summary(id, {})
  }

  refresh(): Promise<void> | undefined {
    return this.#sources.listings.refresh()
  }

  /** Adds models whose files have come to the models folder, and removes those whose files have gone, unless it just did. */
  lookInFolder(): void {
    this.#sources.folder.refresh()
  }

  /** Serves the models of another configuration. Throws, without a change, for models that cannot be. */
  change(changes: ModelChanges & { readonly after: Pick<LoadedConfig, 'listings'> }): void {
    this.#sources.listings.change(changes.after.listings, (others) => replaceModels(others, changes))
  }

  /** Resolves when all models that load at start are ready; rejects with the first failure. */
  async whenReady(): Promise<void> {
    await Promise.all([this.#sources.models.whenReady(), this.refresh()])
  }

  /** Resolves when those models are ready or have failed. Rejects with the reasons when nothing is left to serve. */
  async whenSettled(): Promise<void> {
    await Promise.all([this.#sources.models.whenSettled(), this.refresh()])
  }

  /** Closes all models, and stops asking servers. */
  async close(): Promise<void> {
    await Promise.all([this.#sources.models.close(), this.#sources.listings.close()])
  }

  /** Undefined where the set has no such model, also after a look at the folder. */
  #inSet(name: string, viewer: ModelViewer): Registered | undefined {
    const { models, folder } = this.#sources
    const find = () => models.find(this.#ignoresCase ? spelledAs(models.shown(viewer), name) : name, viewer)
    return find() ?? (folder.refresh() ? find() : undefined)
  }
}

import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { modelFromFolder } from '../../config/models.ts'
import type { ModelConfig } from '../../config/schema.ts'
import { messageOf } from '../../contract/errors.ts'
import { type FolderModel, readModelsFolder } from '../../registry/fetch/models-folder.ts'
import type { Registered } from './create-model.ts'
import type { ModelSet } from './model-set.ts'

export interface ModelsFolder {
  /** Looks for files that came or went, unless it just did. Returns whether it did. */
  refresh(): boolean
}

type Parts = {
  readonly models: ModelSet
  readonly log: Logger
  create(config: ModelConfig): Registered
}

/** Serves the models of the configured folder, if there is one. Throws `invalid-request` when it cannot be read. */
export function openModelsFolder(config: Pick<LoadedConfig, 'modelsFolder' | 'models'>, parts: Parts): ModelsFolder {
  const { modelsFolder } = config
  if (modelsFolder === undefined) return { refresh: () => false }
  const folder = new FolderModels({ ...parts, read: () => readModelsFolder(modelsFolder), now: () => performance.now() })
  folder.refresh()
  return {
    refresh: () => {
      try {
        return folder.refresh()
      } catch (error) {
        // For example a network drive that is temporarily unreachable: the earlier models stay.
        parts.log.warn({ reason: messageOf(error) }, 'the models folder was not read')
        return false
      }
    },
  }
}

type FolderOptions = Omit<Parts, 'log'> & { read(): readonly FolderModel[]; now(): number }

/** A client that asks for unknown names must not make the server read the folder more often. */
const rereadAfterMs = 1000

/** Keeps the models of the folder's present files in the set. */
class FolderModels {
  readonly #options: FolderOptions
  /** The ids of the models, and the identity of their files, by path. */
  readonly #served = new Map<string, { readonly file: string; readonly id: string }>()
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: FolderOptions) {
    this.#options = options
  }

  /** Reads the folder, unless that just happened. Returns whether it did. Throws if it cannot be read. */
  refresh(): boolean {
    const { now, read, models } = this.#options
    if (now() - this.#readAtMs < rereadAfterMs) return false
    this.#readAtMs = now()
    const others = models.all().filter(({ id }) => !this.#isOwn(id))
    const elsewhere = new Set(others.flatMap(({ config }) => (config === undefined ? [] : pathsOf(config))))
    const found = read().filter(({ path }) => !elsewhere.has(path))
    const present = new Set(found.map(identify))
    const gone = [...this.#served].filter(([, { file }]) => !present.has(file))
    const fresh = found.filter((file) => this.#served.get(file.path)?.file !== identify(file))
    if (gone.length === 0 && fresh.length === 0) return true
    void models.change((before) => {
      const removed = new Set(gone.map(([, { id }]) => id))
      for (const [path] of gone) this.#served.delete(path)
      const kept = before.filter(({ id }) => !removed.has(id))
      return [...kept, ...this.#add(fresh, kept)]
    })
    return true
  }

  #isOwn(id: string): boolean {
    return [...this.#served.values()].some((served) => served.id === id)
  }

  #add(files: readonly FolderModel[], kept: readonly Registered[]): Registered[] {
    // Configured names win, and ids win over aliases.
    const names = new Set(kept.flatMap(({ id, aliases }) => [id, ...aliases]))
    const isFree = (name: string) => !names.has(name) && names.add(name) === names
    return files
      .filter(({ id }) => isFree(id))
      .map(({ alias, ...file }) => {
        this.#served.set(file.path, { file: identify(file), id: file.id })
        return this.#options.create(modelFromFolder({ ...file, ...(alias !== undefined && isFree(alias) && { alias }) }))
      })
  }
}

/** The local files that a model may be loaded from. */
function pathsOf(config: ModelConfig): readonly string[] {
  if (config.engine !== 'llama' && config.engine !== 'llama-server') return []
  return config.source.flatMap((source) => (source.type === 'path' ? [source.path] : []))
}

/** Another file with the name of a deleted one is another model. */
function identify({ id, path, projector, sizeBytes, mtimeMs }: FolderModel): string {
  return JSON.stringify([id, path, projector, sizeBytes, mtimeMs])
}

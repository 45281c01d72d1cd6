import type { ModelKind } from '../contract/engine.ts'
import type { FolderModel } from '../registry/fetch/models-folder.ts'
import { builtinModel, defaultModel } from '../registry/names/builtin-model.ts'
import { findCatalogued } from '../registry/names/catalogue.ts'
import { parseSource, resolvePath, type Source, sourceFileName } from '../registry/names/sources.ts'
import { type ModelFlags, withModelFlags } from './model-flags.ts'
import { type LlamaModelConfig, type ModelConfig, modelSchema } from './schema.ts'
import type { ListingConfig } from './sections/listing-schema.ts'

/** The folders that relative paths and `~/` refer to. */
type Folders = { readonly base: string; readonly userHome: string }

/** The facts of a model in a server's list. */
export type ListedFacts = {
  readonly ownedBy?: string
  readonly createdAtMs?: number
  readonly contextLength?: number
  readonly kind?: ModelKind
}

/**
 * A model to serve. Until its file is fetched, the model `standIn` serves its aliases. `listed`: found in the list of a configured server
 * rather than in the configuration. `versionOf`: a version of that model.
 */
export type ConfiguredModel = ModelConfig & {
  readonly standIn?: string
  readonly listed?: ListedFacts
  readonly versionOf?: string
}

const defaultTag = ':latest'

/** The alias of the model that the server was started for. */
const defaultAlias = 'default'

/** The model of `--model SOURCE`, named after its file, with the other flags. Throws `invalid-request` for an invalid source or flag. */
export function modelFromFlag(text: string, folders: Folders, flags: ModelFlags = {}): ModelConfig {
  const name = sourceFileName(parseSource(text))
  const id = name.replace(/\.gguf$/i, '').replaceAll(/[^\w.-]+/g, '-')
  // Its short name means the same model, here and where nothing serves it.
  const aliases = findCatalogued(text) === undefined ? [] : [text]
  const model = modelSchema.parse({ engine: 'llama', id: id === '' ? 'model' : id, source: text, aliases })
  return resolveModelPaths(withModelFlags(model, flags), folders)
}

/** A model that is loaded by its source, with the defaults of a configured one. */
export function modelFromSource(source: Source, id: string): LlamaModelConfig {
  return {
    ...modelSchema.parse({ engine: 'llama', id, source: './any.gguf', load: 'demand' }),
    source: [source],
  } as LlamaModelConfig
}

/** A model of the models folder, with the defaults of a configured one; the first request loads it. */
export function modelFromFolder({ id, alias, path }: FolderModel): ModelConfig {
  return { ...modelFromSource({ type: 'path', path }, id), aliases: alias === undefined ? [] : [alias] }
}

/** A model that a server lists under the name `upstreamModel`. The first request loads it. */
export function modelFromListing(
  { from, prefix, include: _i, exclude: _e, ...settings }: ListingConfig,
  { id: upstreamModel, ...listed }: ListedFacts & { readonly id: string },
): ConfiguredModel {
  const { server, ...endpoint } = from
  const id = `${prefix}${upstreamModel}`
  // Ollama's default tag, which its users omit.
  const aliases = id.endsWith(defaultTag) ? [id.slice(0, -defaultTag.length)] : []
  const model = { engine: 'remote', id, aliases, endpoints: [endpoint], server, upstreamModel, load: 'demand', ...settings }
  return { ...modelSchema.parse(model), listed }
}

/**
 * Merges the models of the command line, which come first, and of the file. The first on the command line gets the alias `default`, which
 * the file's models lose; one with the id `default` keeps it, and the caller reports the conflict. Without any models, if one is needed,
 * the default model is served, with the built-in one as its stand-in. The built-in model comes last, unless its name is taken or `builtin`
 * is false.
 */
export function mergeModels(
  flagModels: readonly ModelConfig[],
  fileModels: readonly ModelConfig[],
  { builtin, needsModel }: { readonly builtin: boolean; readonly needsModel: boolean },
): ConfiguredModel[] {
  const named = mergeNamed(flagModels, fileModels)
  const isTaken = named.some(({ id, aliases }) => id === builtinModel.id || aliases.includes(builtinModel.id))
  const extra = builtin && !isTaken ? [builtinConfig()] : []
  if (named.length > 0 || !needsModel) return [...named, ...extra]
  const { id, sources, sha256 } = defaultModel
  const model = modelSchema.parse({ engine: 'llama', id, source: sources, sha256, aliases: [defaultAlias] })
  return [builtin ? { ...model, standIn: builtinModel.id } : model, ...extra]
}

function mergeNamed(flagModels: readonly ModelConfig[], fileModels: readonly ModelConfig[]): ModelConfig[] {
  const [first, ...others] = flagModels
  if (first === undefined) return [...fileModels]
  const named = { ...first, aliases: [...(first.id === defaultAlias ? [] : [defaultAlias]), ...first.aliases] }
  return [named, ...others, ...fileModels.map((model) => withoutAlias(model, defaultAlias))]
}

/**
 * Loaded on demand; greedy, since a model this small has few good tokens to sample. All its calls are constrained by their
 * schemas: otherwise two more of a hundred are wrong (models/README.md).
 */
function builtinConfig(): ModelConfig {
  const { id, path } = builtinModel
  const settings = { load: 'demand', defaults: { temperature: 0 }, toolStrategy: 'two-pass' }
  return modelSchema.parse({ engine: 'llama', id, source: path, ...settings })
}

/** Makes every path in a model absolute. */
export function resolveModelPaths(model: ModelConfig, folders: Folders): ModelConfig {
  const template = model.chatTemplate === undefined ? {} : { chatTemplate: resolvePath(model.chatTemplate, folders) }
  switch (model.engine) {
    case 'remote': {
      const endpoints = model.endpoints.map((entry) => {
        return entry.file === undefined ? entry : { ...entry, file: resolvePath(entry.file, folders) }
      })
      return { ...model, ...template, endpoints }
    }
    case 'llama': {
      const source = locateAll(model.source, folders)
      return { ...model, ...template, ...resolveOthers(model, folders), source }
    }
    case 'llama-server': {
      const { binary } = model
      return {
        ...model,
        ...template,
        ...resolveOthers(model, folders),
        source: locateAll(model.source, folders),
        // A name without slashes is looked up on PATH.
        ...(binary !== undefined && { binary: /[\\/]/.test(binary) ? resolvePath(binary, folders) : binary }),
      }
    }
    case 'fake': {
      const script = model.script === 'from-request' ? model.script : resolvePath(model.script, folders)
      return { ...model, ...template, script }
    }
  }
}

type OtherFiles = Pick<LlamaModelConfig, 'adapters' | 'draft' | 'mmproj'>

function resolveOthers({ adapters, draft, mmproj }: OtherFiles, folders: Folders): OtherFiles {
  const locate = <T extends { source: Source[] }>(one: T) => ({ ...one, source: locateAll(one.source, folders) })
  return {
    ...(adapters !== undefined && { adapters: adapters.map(locate) }),
    ...(draft !== undefined && { draft: locate(draft) }),
    ...(mmproj !== undefined && { mmproj: mmproj === 'none' ? mmproj : locateAll(mmproj, folders) }),
  }
}

function locateAll(sources: readonly Source[], folders: Folders): Source[] {
  return sources.map((source) => resolveSource(source, folders))
}

function resolveSource(source: Source, folders: Folders): Source {
  return source.type === 'path' ? { type: 'path', path: resolvePath(source.path, folders) } : source
}

function withoutAlias(model: ModelConfig, alias: string): ModelConfig {
  return { ...model, aliases: model.aliases.filter((other) => other !== alias) }
}

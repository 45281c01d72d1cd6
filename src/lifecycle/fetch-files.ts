import type { ConfiguredModel } from '../config/models.ts'
import type { LlamaModelConfig, LlamaServerModelConfig } from '../config/schema.ts'
import { ensureModelFile, locateModelFile, type ModelFileOptions } from '../registry/fetch/fetch-model.ts'
import { weightsOf } from '../registry/gguf/memory-need.ts'
import type { RepositorySource, Source } from '../registry/names/sources.ts'
import { listFiles } from './list-files.ts'
import { projectorOf } from './projector-of.ts'

/** A model with files; others run elsewhere, or need none. */
export type ModelWithFiles = LlamaModelConfig | LlamaServerModelConfig

/** The paths of a model's files, with their settings in the configuration. */
export type ModelFiles = {
  readonly modelPath: string
  readonly mmprojPath?: string
  readonly draft?: Omit<NonNullable<LlamaModelConfig['draft']>, 'source'> & { readonly modelPath: string }
  readonly adapters?: { path: string; scale: number }[]
}

export function hasFiles(config: ConfiguredModel): config is ConfiguredModel & ModelWithFiles {
  return config.engine === 'llama' || config.engine === 'llama-server'
}

/**
 * Finds, fetches and checks the files that a model needs, one after another. Rejects as `ensureModelFile`. The projector comes first: a
 * model whose file is here needs no network to find it.
 */
export async function fetchFiles(config: ModelWithFiles, options: Omit<ModelFileOptions, 'sha256'>): Promise<ModelFiles> {
  const fetch = (sources: readonly Source[], sha256?: string) => ensureModelFile(sources, { ...options, sha256 })
  const mmproj = await projectorOf(config, { home: options.home, listFiles: listingWith(options) })
  const mmprojPath = mmproj === undefined ? undefined : await fetch(mmproj)
  const modelPath = await fetch(config.source, config.sha256)
  const adapters: { path: string; scale: number }[] = []
  for (const { source, scale } of config.adapters ?? []) adapters.push({ path: await fetch(source), scale })
  const { source: draftSource, ...draft } = config.draft ?? {}
  return {
    modelPath,
    ...(mmprojPath !== undefined && { mmprojPath }),
    ...(adapters.length > 0 && { adapters }),
    ...(draftSource !== undefined && { draft: { modelPath: await fetch(draftSource), ...draft } }),
  }
}

/** The files of a model that are on this machine, besides the named one. */
export async function locateFiles(
  { source, mmproj, draft, adapters = [] }: ModelWithFiles,
  modelPath: string,
  home: string,
): Promise<ModelFiles> {
  const pathOf = async (sources: readonly Source[] | undefined) => sources && (await locateModelFile(sources, home))?.path
  const mmprojPath = await pathOf(await projectorOf({ source, ...(mmproj !== undefined && { mmproj }) }, { home }))
  const { source: draftSource, ...ofDraft } = draft ?? {}
  const draftPath = await pathOf(draftSource)
  const found = await Promise.all(adapters.map(async ({ source: from, scale }) => ({ path: await pathOf(from), scale })))
  return {
    modelPath,
    ...(mmprojPath !== undefined && { mmprojPath }),
    ...(draftPath !== undefined && { draft: { ...ofDraft, modelPath: draftPath } }),
    adapters: found.flatMap(({ path, scale }) => (path === undefined ? [] : [{ path, scale }])),
  }
}

/** The paths of all files of a model that are on this machine, however its configuration names them. */
export async function pathsHere(config: ModelWithFiles, home: string): Promise<readonly string[]> {
  const own = await locateModelFile(config.source, home)
  const paths = pathsOf(await locateFiles(config, own?.path ?? '', home))
  return own === undefined ? paths.slice(1) : paths
}

/** Lists repositories with the environment and the signal of a fetch. */
export function listingWith({
  env = process.env,
  signal = new AbortController().signal,
}: Pick<ModelFileOptions, 'env' | 'signal'>) {
  return (repository: RepositorySource) => listFiles(repository, { env, token: undefined, signal })
}

/** All paths, that of the model first. */
export function pathsOf({ modelPath, mmprojPath, draft, adapters = [] }: ModelFiles): readonly string[] {
  const others = [mmprojPath, draft?.modelPath].filter((path) => path !== undefined)
  return [modelPath, ...others, ...adapters.map(({ path }) => path)]
}

/** The bytes to load, with all parts of a split model. A file that has disappeared since counts as 0: the engine reports it. */
export async function sizeOf(files: ModelFiles): Promise<number> {
  const sizes = await Promise.all(pathsOf(files).map(weightsOf))
  return sizes.reduce((sum, size) => sum + size, 0)
}

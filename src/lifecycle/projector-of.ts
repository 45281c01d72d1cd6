import { readdir } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { LlamaModelConfig } from '../config/schema.ts'
import { locateModelFile } from '../registry/fetch/fetch-model.ts'
import { findProjector } from '../registry/fetch/find-projector.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { fileIn } from '../registry/names/repository-choice.ts'
import { landingPath, type RepositorySource, type Source } from '../registry/names/sources.ts'

type ProjectorOptions = {
  /** Dragoman's data folder. */
  readonly home: string
  /** Asked about a repository whose model is not here yet; absent: nothing is asked. */
  readonly listFiles?: ((repository: RepositorySource) => Promise<readonly RepositoryFile[]>) | undefined
  /** Asks also about a model that is here without a projector. */
  readonly asksAgain?: boolean
}

/**
 * The sources of a model's multimodal projector: those of its configuration, or else the file beside the model's, in its folder or its
 * repository. Undefined: the model has none. A model whose file is here needs no network for it.
 */
export async function projectorOf(
  { source: sources, mmproj }: Pick<LlamaModelConfig, 'source' | 'mmproj'>,
  { home, listFiles, asksAgain = false }: ProjectorOptions,
): Promise<readonly Source[] | undefined> {
  if (mmproj !== undefined) return mmproj === 'none' ? undefined : mmproj
  for (const source of sources) {
    const file = await locateModelFile([source], home)
    const beside = file && (await besideFile(file.path, { source, home }))
    if (beside !== undefined) return [beside]
    if (file !== undefined && !asksAgain) return undefined
  }
  const repositories = sources.flatMap((source) => (isOfRepository(source) ? [source] : []))
  for (const source of listFiles === undefined ? [] : repositories) {
    const files = await listFiles?.(repositoryOf(source)).catch(() => undefined)
    // The fault of a repository is reported when the model is fetched from it.
    if (files === undefined) continue
    const paths = files.map(({ path }) => path)
    const found = findProjector(paths, source.type === 'hf' ? source.file : '', { isOneModel: true })
    return found === undefined ? undefined : [fileIn(repositoryOf(source), found)]
  }
  return undefined
}

async function besideFile(
  path: string,
  { source, home }: { readonly source: Source; readonly home: string },
): Promise<Source | undefined> {
  if (source.type !== 'path' && !isOfRepository(source)) return undefined
  const isOneModel = isOfRepository(source)
  const folder = isOneModel ? dirname(join(home, 'models', landingPath(fileIn(repositoryOf(source), 'any')))) : dirname(path)
  // An unreadable folder counts as empty; its fault is reported when the model is read.
  const names = await readdir(folder, { recursive: isOneModel }).catch((): string[] => [])
  const model = isOneModel ? relative(folder, path) : basename(path)
  const found = findProjector(names.map(withSlashes), withSlashes(model), { isOneModel })
  return found === undefined ? undefined : { type: 'path', path: join(folder, found) }
}

function withSlashes(path: string): string {
  return path.replaceAll(sep, '/')
}

type OfRepository = Extract<Source, { type: 'hf' | 'hf-repository' }>

function isOfRepository(source: Source): source is OfRepository {
  return source.type === 'hf' || source.type === 'hf-repository'
}

function repositoryOf({ owner, repo, revision }: OfRepository): RepositorySource {
  return { type: 'hf-repository', owner, repo, revision }
}

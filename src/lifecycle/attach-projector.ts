import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type ConfiguredModel, withProjector } from '../config/models.ts'
import type { LlamaModelConfig } from '../config/schema.ts'
import { findProjector } from '../registry/fetch/find-projector.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { fileIn } from '../registry/names/repository-choice.ts'
import { landingPath, type RepositorySource, type Source } from '../registry/names/sources.ts'

type AttachOptions = {
  /** The program for models that read pictures. */
  readonly llamaServer: string
  /** Dragoman's data folder. */
  readonly home: string
  listFiles(repository: RepositorySource): Promise<readonly RepositoryFile[]>
}

/** Adds the projector beside a model's file, in its folder or its repository; without one, the model is unchanged. */
export async function attachProjector(model: LlamaModelConfig, options: AttachOptions): Promise<ConfiguredModel> {
  const [source] = model.source
  const mmproj = source === undefined ? undefined : await projectorOf(source, options)
  return mmproj === undefined ? model : withProjector(model, mmproj, options.llamaServer)
}

async function projectorOf(source: Source, options: AttachOptions): Promise<Source | undefined> {
  switch (source.type) {
    case 'path': {
      const folder = dirname(source.path)
      const found = findProjector(await filesIn(folder), basename(source.path))
      return found === undefined ? undefined : { type: 'path', path: join(folder, found) }
    }
    case 'hf':
    case 'hf-repository': {
      const { owner, repo, revision } = source
      const repository = { type: 'hf-repository', owner, repo, revision } as const
      const model = source.type === 'hf' ? source.file : ''
      const found = findProjector(await pathsOf(repository, options), model, { isOneModel: true })
      return found === undefined ? undefined : fileIn(repository, found)
    }
    case 'url':
    case 'wheel':
      return undefined
  }
}

/** The files of a repository; if it cannot be reached, those fetched from it. */
async function pathsOf(repository: RepositorySource, { home, listFiles }: AttachOptions): Promise<readonly string[]> {
  try {
    return (await listFiles(repository)).map(({ path }) => path)
  } catch {
    // The fault of the repository is reported when the model is fetched from it.
    return filesIn(dirname(join(home, 'models', landingPath(fileIn(repository, 'any')))))
  }
}

/** An unreadable folder counts as empty; its fault is reported when the model is read. */
function filesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}
